// Turns programs into commands in Python for the page `core`, and says what golden makes of them.
import { pythonAnswers } from "../golden/python";
import { serve } from "../workers/serve";

serve(() => pythonAnswers("openwmma.learn.core_program"));
