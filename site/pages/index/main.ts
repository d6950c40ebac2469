import "../../src/shell/shell";
import "./style.css";
