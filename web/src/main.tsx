import { render } from "preact";
import { App } from "./app";
import { load } from "./data";
import { Live } from "./live";
import "./page.css";

const page = document.getElementById("page")!;
// In a file the data is there; a server is asked for it.
if (!document.getElementById("data")) render(<Live />, page);
else load().then(
  (data) => render(<App data={data} />, page),
  (error) => {
    page.textContent = `The data of this page can't be read: ${error instanceof Error ? error.message : error}. Write it again with graphrun render.`;
  },
);
