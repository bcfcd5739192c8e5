// Bundles the scripts of the live page into python/sojourn/explore, that of the reports into python/sojourn/report.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";

const out = new URL("../python/sojourn/explore/", import.meta.url).pathname;
const common = { bundle: true, minify: true, target: "es2022", format: "iife", legalComments: "none", logLevel: "warning" };
await build({ ...common, entryPoints: ["src/main.ts"], banner: { js: "/* uPlot (MIT licence) */" }, outfile: `${out}page.js` });
await build({ ...common, entryPoints: ["src/worker.ts"], outfile: `${out}worker.js` });
await build({ ...common, entryPoints: ["src/report/main.ts"], banner: { js: "/* uPlot, fflate (MIT licence) */" }, outfile: new URL("../python/sojourn/report/templates/report.js", import.meta.url).pathname });
const own = await readFile("src/page.css", "utf8");
const charts = await readFile("node_modules/uplot/dist/uPlot.min.css", "utf8");
const notice = (styles) => `/* uPlot (MIT licence) */\n${styles.trim()}\n`;
await writeFile(`${out}page.css`, `${own.trim()}\n${notice(charts)}`);
await writeFile(new URL("../python/sojourn/report/templates/uplot.css", import.meta.url).pathname, notice(charts));
