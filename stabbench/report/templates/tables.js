"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => {
        const cell = row.cells[column];
        if (cell.dataset.v === undefined) return cell.textContent;
        const text = cell.dataset.v;
        return text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text);
      };
      const compare = (a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x === "" || y === "") return x === y ? 0 : x === "" ? 1 : -1;
        const order = typeof x === "number" && typeof y === "number"
          ? (x < y ? -1 : x > y ? 1 : 0) : String(x).localeCompare(String(y));
        return down ? -order : order;
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
}
for (const field of document.querySelectorAll("input[data-table]")) {
  const body = document.getElementById(field.dataset.table).tBodies[0];
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
