// Makes operations of the dot-product unit in Python for the page `hardware`.
import { pythonAnswers } from "../golden/python";
import { serve } from "../workers/serve";

serve(() => pythonAnswers("answers.unit_operations"));
