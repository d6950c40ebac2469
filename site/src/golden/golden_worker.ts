// Explains dot products in Python for the page `microscope`.
import { serve } from "../workers/serve";
import { pythonAnswers } from "./python";

serve(() => pythonAnswers("answers.microscope"));
