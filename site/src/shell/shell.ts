// What every page does; imported first by each page's main.ts.
import { connectThemeToggle } from "./theme";

connectThemeToggle();
