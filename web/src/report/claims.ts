// The table of claims: find, filter by verdict, sort. Printing shows every claim.

export function claims(table: HTMLElement): void {
  const controls = table.querySelector<HTMLElement>(".controls")!;
  const body = table.querySelector("tbody")!;
  const rows = [...body.rows];
  const search = controls.querySelector<HTMLInputElement>("input[type=search]")!;
  const boxes = [...controls.querySelectorAll<HTMLInputElement>("input[type=checkbox]")];
  const shown = controls.querySelector(".shown")!;
  const texts = rows.map((row) => row.textContent!.toLowerCase());

  const filter = (): void => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let count = 0;
    rows.forEach((row, i) => {
      row.hidden = !wanted.has(row.dataset["verdict"]!) || !words.every((word) => texts[i]!.includes(word));
      count += row.hidden ? 0 : 1;
    });
    shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} shown`;
  };
  search.addEventListener("input", filter);
  boxes.forEach((box) => box.addEventListener("change", filter));
  controls.hidden = false;

  const heads = [...table.querySelectorAll<HTMLElement>("thead th")];
  heads.forEach((head, column) => {
    if (!head.dataset["sort"]) return;
    // Not a button element: Chromium does not repeat those in the table heads of later printed pages.
    const sort = document.createElement("span");
    sort.className = "sort";
    sort.tabIndex = 0;
    sort.setAttribute("role", "button");
    sort.append(...head.childNodes);
    head.append(sort);
    sort.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort.click();
    });
    sort.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row: HTMLTableRowElement): number => Number(row.cells[column]!.dataset["key"]);
      body.append(...[...rows].sort((a, b) => (down ? key(b) - key(a) : key(a) - key(b))));
    });
  });
}

export function printEveryClaim(): void {
  addEventListener("beforeprint", () => {
    document.querySelectorAll<HTMLElement>("figure.claims tr[hidden]").forEach((row) => {
      row.hidden = false;
      row.dataset["back"] = "1";
    });
  });
  addEventListener("afterprint", () => {
    document.querySelectorAll<HTMLElement>("figure.claims tr[data-back]").forEach((row) => {
      row.hidden = true;
      delete row.dataset["back"];
    });
  });
}
