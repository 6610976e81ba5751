// Open reports in a headless Chromium, as people see them: narrow and wide, light and dark, printed.
// Usage: node look.mjs FOLDER-FOR-SCREENSHOTS REPORT.html...
// What is wrong is printed as JSON, one object a line; nothing is printed if all is well.
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const [folder, ...reports] = process.argv.slice(2);
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });

async function look(report, width, scheme) {
  const page = await browser.newPage();
  const wrong = (what, details) => console.log(JSON.stringify({ report: basename(report), width, scheme, what, details }));
  const url = pathToFileURL(report).href;
  page.on("console", (message) => wrong("console", message.text()));
  page.on("pageerror", (error) => wrong("script", String(error)));
  page.on("request", (request) => request.url() === url || wrong("request", request.url()));
  page.on("dialog", async (dialog) => { wrong("dialog", dialog.message()); await dialog.dismiss(); });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setJavaScriptEnabled(false);
  await page.goto(url);
  await page.screenshot({ path: join(folder, `${basename(report, ".html")}-${width}-${scheme}.png`), fullPage: true });
  await page.setJavaScriptEnabled(true);
  await page.setBypassCSP(true); // for axe alone; the page had none of this when it was drawn
  await page.goto(url);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wide > 0) wrong("wider than the window", wide);
  await page.addScriptTag({ path: axe });
  const found = await page.evaluate(() => axe.run());
  for (const rule of found.violations) wrong(`axe ${rule.id}`, rule.nodes.slice(0, 3).map((node) => node.html));
  await page.close();
}

for (const report of reports)
  for (const width of [390, 1280])
    for (const scheme of ["light", "dark"]) await look(report, width, scheme);
await browser.close();
