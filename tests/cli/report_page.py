#!/usr/bin/env python3
"""Loads pages of --report in headless Chromium (scripts/install_packages.sh --browser): pages of jobs
of several kinds, in light and dark, on a phone and on a desk, without a network.

A copy of each page gets a script that measures it from within and tells the page around it, which is
what the browser prints in the end. The page itself is loaded as it is: nothing may appear on the
console.
"""

import argparse
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SCHEMES = {"light": "1", "dark": "0"}  # of the setting preferredColorScheme
WIDTHS = (400, 1200)
LEAST_CONTRAST = 4.5  # of text on its background (WCAG 2, AA)

# Returns what is wrong with the page.
MEASURE = """
const problems = [];
const parse = text => text.match(/[\\d.]+/g).map(Number);
const light = text => {
  const [r, g, b] = parse(text).map(v => v / 255).map(
      v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const background = element => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    const parts = parse(colour);
    if (parts.length < 4 || parts[3] > 0) return colour;
  }
  return "rgb(255, 255, 255)";
};
const root = document.documentElement;
if (root.scrollWidth > innerWidth) problems.push(`${root.scrollWidth} px wide of ${innerWidth}`);
for (const element of document.querySelectorAll("h1,h2,h3,p,pre,dt,dd,li,b,span,strong,footer")) {
  const box = element.getBoundingClientRect();
  if (!element.innerText?.trim() || element.closest("[aria-hidden]") && element.closest(".bar")) continue;
  if (box.right > innerWidth + 1) problems.push(`beyond the edge: ${element.innerText.slice(0, 40)}`);
  const [a, b] = [light(getComputedStyle(element).color), light(background(element))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < LEAST) problems.push(`contrast ${contrast.toFixed(1)}: ${element.innerText.slice(0, 40)}`);
}
const drawings = [...document.querySelectorAll("svg")];
for (const svg of drawings) {
  const label = svg.getAttribute("aria-label");
  if (!label || label.length < 10) problems.push("a drawing without words");
  const box = svg.getBoundingClientRect();
  if (box.width < 100 || box.height < 10) problems.push(`small: ${label}`);
  const shapes = svg.querySelectorAll("polyline, .area, rect:not(.tip)");
  const full = [...shapes].some(shape => shape.getBoundingClientRect().width > 0.5);
  if (svg.classList.contains("lines") && !full) problems.push(`empty: ${label}`);
  if (/NaN|inf|undefined/i.test(svg.innerHTML.replace(/[a-z]*inf[a-z]+/gi, ""))) problems.push(`no number in: ${label}`);
}
const dark = light(background(document.body)) < 0.2;
if (dark !== matchMedia("(prefers-color-scheme: dark)").matches) problems.push("not the scheme");
const facts = {
  problems,
  dark,
  width: innerWidth,
  charts: [...document.querySelectorAll("figure h3")].map(title => title.innerText),
  titles: [...document.querySelectorAll("h2")].map(title => title.innerText),
  strips: document.querySelectorAll(".strip").length,
  text: document.body.innerText,
};
parent.postMessage(JSON.stringify(facts), "*");
"""

AROUND = """<!DOCTYPE html><meta charset="utf-8"><iframe src="measured.html" width="WIDTH" height="900"
style="border:0"></iframe><pre id="told"></pre><script>
onmessage = event => { document.getElementById("told").textContent = event.data; };</script>"""


def run(command, directory, status=0):
    done = subprocess.run(command, shell=True, cwd=directory, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}, check=False)
    if done.returncode != status:
        sys.exit(f"{command}: status {done.returncode}: {done.stderr}")


def make_pages(xxl, directory):
    """Pages by name, with a text that each must have."""
    run("seq 400000 | sort -R > lines; sed 's/$/,\"x\"/' lines > rows; printf '1,\"a' >> rows",
        directory)
    run(f"{xxl} gen --record=gensort 1M -o records", directory)
    run(f"{xxl} sort --record=gensort -S 8M -T . records -o out --report=records.html", directory)
    run(f"{xxl} sort -S 4M -T . lines -o out --report=lines.html", directory)
    run(f"{xxl} join --record=gensort -S 8M -T . records records --output=out --report=join.html",
        directory)
    run(f"{xxl} sort --device=simulated --gpu-memory=64M --record=gensort -S 32M records -o out "
        "--report=gpu.html", directory)
    run(f"{xxl} sort --record=csv --no-header --key=1 rows -o out --report=failed.html", directory, status=2)
    run(f"{xxl} sort /dev/null -o out --report=empty.html", directory)
    run(f"cp lines '<img src=x>'; {xxl} sort '<img src=x>' -o out --report=names.html", directory)
    return {"records": "merge pass 1", "lines": "form runs", "join": "join", "gpu": "GPU 0",
            "failed": "Error:", "empty": "done in", "names": "<img src=x>"}


class Browser:
    def __init__(self, program, directory):
        self.program = program
        self.directory = directory

    def dump(self, page, scheme, width):
        """What the page has become, and what stood on the console."""
        done = subprocess.run(
            [self.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={self.directory / 'profile'}", "--enable-logging=stderr", "--v=0",
             "--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND",
             f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", "--allow-file-access-from-files",
             f"--window-size={max(width, 600) + 40},1000", "--virtual-time-budget=3000", "--dump-dom",
             page.as_uri()],
            capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done.stdout, console

    def measure(self, page, scheme, width):
        text = page.read_text(encoding="utf-8")
        script = MEASURE.replace("LEAST", str(LEAST_CONTRAST), 1)
        (self.directory / "measured.html").write_text(
            # The page allows no script at all.
            text.replace("Content-Security-Policy", "x").replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
        around = self.directory / "around.html"
        around.write_text(AROUND.replace("WIDTH", str(width)), encoding="utf-8")
        dom, _ = self.dump(around, scheme, width)
        told = re.search(r'<pre id="told">(.*?)</pre>', dom, re.DOTALL)
        if not told or not told[1]:
            return {"problems": ["the page told nothing"]}
        return json.loads(html.unescape(told[1]))


def check(browser, name, expected, page):
    problems = []
    text = page.read_text(encoding="utf-8")
    for foreign in ("<script", "<link rel=\"stylesheet", "<img", "http:", "https:", "@import", "url("):
        if foreign in text:
            problems.append(f"it has {foreign}")
    _, console = browser.dump(page, "light", 1200)
    problems.extend(console)
    for scheme in SCHEMES:
        for width in WIDTHS:
            facts = browser.measure(page, scheme, width)
            found = facts["problems"]
            if not found:
                if facts["dark"] != (scheme == "dark") or facts["width"] != width:
                    found.append("the browser did not do as told")
                if expected not in facts["text"]:
                    found.append(f"no {expected!r}")
                for title in ("Where the time went", "Who worked when", "Over time", "The plan"):
                    if title not in facts["titles"]:
                        found.append(f"no {title!r}")
                if "Processors" not in facts["charts"] or facts["strips"] < 1:
                    found.append("no charts")
            problems.extend(f"{scheme}, {width} px: {problem}" for problem in found)
    for problem in problems:
        print(f"{name}: {problem}")
    return not problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xxl", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit("no browser: scripts/install_packages.sh --browser")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        pages = make_pages(arguments.xxl.resolve(), directory)
        browser = Browser(program, directory)
        passed = [check(browser, page, expected, directory / f"{page}.html")
                  for page, expected in pages.items()]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
