// The style of a job's page: light or dark as the reader's system is, on paper and on a phone.
#pragma once

#include <string_view>

namespace xxl::cli {

inline constexpr std::string_view kPageStyle = R"css(
:root{color-scheme:light dark;--page:#f6f6f3;--card:#fff;--ink:#1b1e22;--soft:#5d646c;--line:#e2e3df;
--blue:#2a6fdb;--orange:#d9730d;--green:#1a936f;--violet:#7d4fc9;--red:#c7362b;--grey:#b9bfc6;
--teal:#0e8ba3;--good:#12704e;--glow:0 1px 2px rgba(20,25,30,.06),0 4px 16px rgba(20,25,30,.04)}
@media (prefers-color-scheme:dark){:root{--page:#111316;--card:#1a1d21;--ink:#e9ebee;--soft:#9aa2ab;
--line:#2c3137;--blue:#6aa5ff;--orange:#ffa24a;--green:#46c797;--violet:#b592f5;--red:#ff7b6e;
--grey:#4b525a;--teal:#4cc3d9;--good:#46c797;--glow:none}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",
Roboto,"Noto Sans",sans-serif;-webkit-text-size-adjust:100%}
main,header{max-width:1080px;margin:0 auto;padding:0 20px}
header{padding-top:32px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:18px;margin:36px 0 12px;letter-spacing:-.005em}
h3{font-size:14px;margin:0;font-weight:600}
p{margin:0}
.pill{display:inline-block;vertical-align:3px;margin-left:10px;padding:2px 10px;border-radius:99px;
font-size:13px;font-weight:600;letter-spacing:0;color:var(--good);border:1px solid currentColor}
.pill.failed{color:var(--red)}
.soft,.summary{color:var(--soft)}
code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{margin:14px 0 0;padding:10px 14px;background:var(--card);border:1px solid var(--line);
border-radius:10px;white-space:pre-wrap;overflow-wrap:anywhere}
.error{margin:18px 0 0;padding:12px 16px;border:1px solid var(--red);border-left-width:5px;
border-radius:10px;background:var(--card);overflow-wrap:anywhere}
.card,.tile,.chart,.phase{background:var(--card);border:1px solid var(--line);border-radius:12px;
box-shadow:var(--glow)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:12px;margin:20px 0 0}
.tile{padding:12px}
.tile b{display:block;font-size:19px;line-height:1.3;font-weight:650;white-space:nowrap}
.tile span{color:var(--soft);font-size:13px}
.bar{display:flex;gap:2px;height:34px;border-radius:8px;overflow:hidden}
.bar span{min-width:3px;padding:6px 8px;font-size:13px;line-height:22px;font-weight:600;color:#fff;
overflow:hidden;white-space:nowrap;background:var(--grey)}
@media (prefers-color-scheme:dark){.bar span{color:#101214}}
.bar .gap{background:var(--line)}
.bar .blue,.mark.blue{background:var(--blue)}.bar .orange,.mark.orange{background:var(--orange)}
.bar .green,.mark.green{background:var(--green)}.bar .violet,.mark.violet{background:var(--violet)}
.bar .teal,.mark.teal{background:var(--teal)}.bar .grey,.mark.grey{background:var(--grey)}
.phases{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));
margin:14px 0 0;padding:0;list-style:none}
.phase{padding:14px 16px}
.phase h3{display:flex;gap:8px;align-items:baseline}
.phase h3 .time{margin-left:auto;font-weight:400;color:var(--soft);white-space:nowrap}
.mark{flex:none;width:10px;height:10px;border-radius:3px}
.phase .bound{margin:8px 0 10px}.bound::first-letter{text-transform:uppercase}
.meters{display:grid;grid-template-columns:auto 1fr auto;gap:4px 10px;align-items:center;
font-size:13px;margin:0 0 8px}
.meters .track{height:8px;border-radius:99px;background:var(--line);overflow:hidden}
.meters .track i{display:block;height:100%;border-radius:99px;background:var(--blue)}
.meters .track i.orange{background:var(--orange)}.meters .track i.green{background:var(--green)}
.meters .track i.violet{background:var(--violet)}.meters .track i.teal{background:var(--teal)}
.meters .track i.grey{background:var(--grey)}
.meters .value{font-variant-numeric:tabular-nums;text-align:right}
.help{margin:8px 0 0;padding:8px 12px 8px 30px;border-radius:8px;background:var(--page);font-size:14px}
.help::marker{color:var(--soft)}
.chart,.card{padding:14px 16px 12px;margin:0 0 14px}
figcaption{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:baseline;margin-bottom:10px}
.keys{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:13px;color:var(--soft)}
.key::before{content:"";display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px;
background:currentColor;vertical-align:-1px}
.key.dashed::before{height:0;border-top:2px dashed var(--soft);border-radius:0;background:none;
vertical-align:4px}
.key.blue::before{background:var(--blue)}.key.orange::before{background:var(--orange)}
.key.green::before{background:var(--green)}.key.violet::before{background:var(--violet)}
.key.teal::before{background:var(--teal)}.key.grey::before{background:var(--grey)}
.key.red::before{background:var(--red)}
.plot{display:grid;grid-template-columns:74px 1fr;gap:0 8px}
.y{display:flex;flex-direction:column;justify-content:space-between;text-align:right;font-size:12px;
line-height:1;color:var(--soft);margin:-6px 0;font-variant-numeric:tabular-nums;white-space:nowrap}
svg{display:block;width:100%;overflow:visible}
svg.lines{height:150px}
.x{position:relative;height:20px;font-size:12px;color:var(--soft);grid-column:2}
.x span{position:absolute;top:4px;transform:translateX(-50%);white-space:nowrap}
.x span:first-child{transform:none}
svg *{vector-effect:non-scaling-stroke}
.grid{stroke:var(--line);stroke-width:1;fill:none}
svg.lines{border-bottom:1px solid var(--soft)}
.edge{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3;opacity:.6;fill:none}
.limit{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:6 4;fill:none}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.line.blue{stroke:var(--blue)}.line.orange{stroke:var(--orange)}.line.green{stroke:var(--green)}
.line.violet{stroke:var(--violet)}.line.teal{stroke:var(--teal)}.line.grey{stroke:var(--grey)}
.area.blue,rect.blue{fill:var(--blue)}.area.orange,rect.orange{fill:var(--orange)}
.area.green,rect.green{fill:var(--green)}.area.violet,rect.violet{fill:var(--violet)}
.area.teal,rect.teal{fill:var(--teal)}.area.grey,rect.grey{fill:var(--grey)}
.area.red{fill:var(--red)}
.tip{fill:transparent}.tip:hover{fill:var(--ink);fill-opacity:.08}
.summary{font-size:13px;margin-top:6px}
.strips{position:relative}
.strip{display:grid;grid-template-columns:1fr auto;gap:2px 12px;margin-bottom:10px;font-size:13px}
.strip .note{color:var(--soft);font-variant-numeric:tabular-nums}
.strip svg{grid-column:1/-1;height:16px;background:var(--page);border-radius:4px;overflow:hidden}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
footer{max-width:1080px;margin:36px auto 40px;padding:0 20px;color:var(--soft);font-size:13px}
@media (max-width:560px){body{font-size:14px}main,header,footer{padding-left:12px;padding-right:12px}
h1{font-size:22px}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:8px}
.plot{grid-template-columns:62px 1fr}.y,.x{font-size:11px}
.tiles{grid-template-columns:repeat(2,1fr)}.chart,.card{padding:12px}}
@media print{body{background:#fff}.tile,.chart,.phase,.card{box-shadow:none;break-inside:avoid}}
)css";

}  // namespace xxl::cli
