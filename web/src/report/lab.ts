// The live page of the report's scenario, in a frame that is made when it is asked for.

import { made } from "./controls";
import { dataOf } from "./data";

export function lab(block: HTMLElement): void {
  const open = block.querySelector<HTMLButtonElement>("button.open")!;
  open.hidden = false;
  open.addEventListener("click", () => {
    const page = dataOf<string>(block.querySelector(".data")!);
    const frame = made("iframe");
    frame.title = "Live page";
    frame.allow = "clipboard-write";
    frame.src = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    open.replaceWith(frame);
    frame.focus();
  });
}
