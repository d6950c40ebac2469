// Says in Python, for the page `core`, what buffers hold and what golden makes of commands.
import { pythonAnswers } from "../golden/python";
import { serve } from "../workers/serve";

serve(() => pythonAnswers("answers.core_program"));
