// Makes operations of the dot-product unit in Python for the page `hardware`.
import { pythonAnswers } from "../golden/python";
import { serve } from "../workers/serve";
import type { Answer, Question } from "./operations";

serve(() => pythonAnswers<Question, Answer>("openwmma.learn.unit_operations"));
