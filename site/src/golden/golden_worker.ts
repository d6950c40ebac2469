// Explains dot products in Python for the page `microscope`.
import { serve } from "../workers/serve";
import type { Answer, Question } from "./explanation";
import { pythonAnswers } from "./python";

serve(() => pythonAnswers<Question, Answer>("openwmma.learn.microscope"));
