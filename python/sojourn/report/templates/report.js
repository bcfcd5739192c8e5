"use strict";
// Convenience only: the page is complete without scripts.
for (const button of document.querySelectorAll("button.copy")) {
  const text = button.parentElement.querySelector("code").textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

for (const table of document.querySelectorAll("figure.claims")) {
  const controls = table.querySelector(".controls");
  const body = table.querySelector("tbody");
  const rows = [...body.rows];
  const search = controls.querySelector("input[type=search]");
  const boxes = [...controls.querySelectorAll("input[type=checkbox]")];
  const shown = controls.querySelector(".shown");
  const texts = rows.map((row) => row.textContent.toLowerCase());

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let count = 0;
    rows.forEach((row, i) => {
      row.hidden = !wanted.has(row.dataset.verdict) || !words.every((word) => texts[i].includes(word));
      count += row.hidden ? 0 : 1;
    });
    shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} shown`;
  };
  search.addEventListener("input", filter);
  boxes.forEach((box) => box.addEventListener("change", filter));
  controls.hidden = false;

  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    if (!head.dataset.sort) return;
    // Not a button element: Chromium does not repeat those in the table heads of later printed pages.
    const button = document.createElement("span");
    button.className = "sort";
    button.tabIndex = 0;
    button.setAttribute("role", "button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      button.click();
    });
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => Number(row.cells[column].dataset.key);
      const sorted = [...rows].sort((a, b) => (down ? key(b) - key(a) : key(a) - key(b)));
      body.append(...sorted);
    });
  });
}

// The target of a link is shown with any filter; printing shows every claim.
addEventListener("beforeprint", () => {
  document.querySelectorAll("figure.claims tr[hidden]").forEach((row) => { row.hidden = false; row.dataset.back = "1"; });
});
addEventListener("afterprint", () => {
  document.querySelectorAll("figure.claims tr[data-back]").forEach((row) => { row.hidden = true; delete row.dataset.back; });
});
