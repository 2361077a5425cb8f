// The style and the little script of `report.html`. Colours are variables, so that light, dark and print differ in one
// place; a series has a colour and a dash pattern, so that colour alone says nothing.

enum HTMLStyle {
  static let css = """
    :root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#15181d;--soft:#59616d;--line:#dfe3e8;--grid:#e9ecf0;\
    --good:#12703f;--bad:#b3261e;--warn:#8a5300;--goodbg:#e7f5ec;--badbg:#fdecea;--warnbg:#fdf3e1;\
    --s0:#1d5fd1;--s1:#c2500a;--s2:#0b7a6f;--s3:#7a3fd0;--s4:#b3246b;--s5:#5d6b12}
    @media (prefers-color-scheme:dark){:root{--bg:#0f1216;--card:#171b21;--ink:#e9ecf1;--soft:#9aa4b2;--line:#2a313a;\
    --grid:#222831;--good:#5fd495;--bad:#ff8a80;--warn:#f2b84b;--goodbg:#10261a;--badbg:#2e1614;--warnbg:#2b2110;\
    --s0:#7db0ff;--s1:#ff9d5c;--s2:#4fd0c3;--s3:#bd97ff;--s4:#ff86bd;--s5:#c3d05f}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
    main{max-width:1180px;margin:0 auto;padding:28px 20px 64px}
    h1{font-size:1.7rem;line-height:1.2;margin:0;overflow-wrap:anywhere;letter-spacing:-.01em}
    h2{font-size:1.2rem;margin:44px 0 12px;letter-spacing:-.005em}
    h3{font-size:1rem;margin:0 0 2px}
    p{margin:6px 0}
    a{color:var(--s0)}
    .meta{color:var(--soft);font-size:.9rem;margin:4px 0 18px}
    .verdict{display:flex;gap:14px;align-items:flex-start;border-radius:12px;padding:16px 18px;margin:0 0 16px}
    .verdict .mark{font-size:1.5rem;line-height:1.3;font-weight:700}
    .verdict strong{font-size:1.3rem;display:block;line-height:1.3}
    .verdict p{margin:2px 0}
    .passed{background:var(--goodbg)}.passed .mark,.passed strong{color:var(--good)}
    .failed{background:var(--badbg)}.failed .mark,.failed strong{color:var(--bad)}
    .invalid,.partial{background:var(--warnbg)}.invalid .mark,.invalid strong,.partial .mark,.partial strong{color:var(--warn)}
    .five{display:grid;grid-template-columns:repeat(5,1fr);gap:12px;margin:0 0 12px}
    .five>div{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:13px 15px;min-width:0}
    .five .label{color:var(--soft);font-size:.82rem}
    .five .value{font-size:1.65rem;font-weight:650;line-height:1.2;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
    .five .unit{font-size:.82rem;font-weight:400;color:var(--soft);letter-spacing:0;white-space:nowrap}
    .five .detail{color:var(--soft);font-size:.85rem;font-variant-numeric:tabular-nums}
    @media (max-width:960px){.five{grid-template-columns:repeat(3,1fr)}}
    @media (max-width:620px){.five{grid-template-columns:repeat(2,1fr)}.five>div:first-child{grid-column:1/-1}h1{font-size:1.35rem}}
    .name{font-weight:600;margin:14px 0 6px}
    ul.warnings{list-style:none;margin:12px 0;padding:0;display:grid;gap:8px}
    ul.warnings li{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--warn);border-radius:8px;padding:9px 14px}
    ul.warnings li.bad{border-left-color:var(--bad)}
    ul.warnings .hint{color:var(--soft);font-size:.9rem;margin:1px 0}
    code,pre,.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86em}
    code{background:var(--grid);border-radius:4px;padding:1px 5px;overflow-wrap:anywhere}
    pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;overflow:auto;max-height:420px}
    .scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:10px}
    table{border-collapse:collapse;width:100%;font-size:.88rem}
    th,td{padding:6px 10px;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top}
    tr:last-child td{border-bottom:0}
    th{color:var(--soft);font-weight:600;white-space:nowrap}
    td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
    td.def{color:var(--soft);min-width:210px;font-size:.84rem}
    td code{white-space:nowrap}
    .yes{color:var(--good)}.no{color:var(--bad);font-weight:600}
    .charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));gap:14px}
    figure{background:var(--card);border:1px solid var(--line);border-radius:12px;margin:0;padding:14px 14px 8px;min-width:0}
    figure.wide{grid-column:1/-1}
    figcaption{font-weight:600;font-size:.95rem}
    figcaption small{display:block;font-weight:400;color:var(--soft);font-size:.82rem}
    svg{display:block;width:100%;height:auto;margin-top:8px;overflow:visible}
    svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
    svg .grid{stroke:var(--grid);stroke-width:1}
    svg .axis{stroke:var(--line);stroke-width:1}
    svg .l{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
    .c0{stroke:var(--s0)}.c1{stroke:var(--s1);stroke-dasharray:7 3}.c2{stroke:var(--s2);stroke-dasharray:2 3}
    .c3{stroke:var(--s3);stroke-dasharray:9 3 2 3}.c4{stroke:var(--s4);stroke-dasharray:4 2}.c5{stroke:var(--s5);stroke-dasharray:1 2}
    .f0{fill:var(--s0)}.f1{fill:var(--s1)}.f2{fill:var(--s2)}.f3{fill:var(--s3)}.f4{fill:var(--s4)}.f5{fill:var(--s5)}
    .bar{opacity:.32}.bar.solo{opacity:.75}.wait{opacity:.3}.stream{opacity:.85}.badmark{stroke:var(--bad);stroke-width:2}
    .dot{opacity:.55}.off{display:none}
    .hair{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 2}
    .legend{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:.82rem;color:var(--soft);margin:4px 0 0}
    .legend button{all:unset;cursor:pointer;display:inline-flex;align-items:center;gap:6px}
    .legend button:focus-visible{outline:2px solid var(--s0);outline-offset:2px;border-radius:3px}
    .legend button[aria-pressed=false]{opacity:.45;text-decoration:line-through}
    .legend svg{width:26px;height:8px;margin:0}
    .read{min-height:1.3em;font-size:.8rem;color:var(--soft);font-variant-numeric:tabular-nums;overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
    @media (max-width:620px){svg text{font-size:15px}figure.wide{overflow-x:auto}figure.wide>svg{min-width:640px}}
    details{margin:4px 0 6px}
    details.few{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:7px 14px}
    summary{cursor:pointer;color:var(--soft);font-size:.84rem}
    details .scroll{max-height:320px;overflow:auto;margin-top:6px}
    .note{color:var(--soft);font-size:.9rem}
    @media print{:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--grid:#ddd}body{font-size:11px}\
    main{max-width:none;padding:0}figure,.five>div,ul.warnings li,table tr{break-inside:avoid}h2{break-after:avoid}\
    .read,details.data{display:none}pre{max-height:none}.charts{grid-template-columns:1fr 1fr}}
    """

  /// Reads the values under the pointer from a chart's own data, and lets a legend hide a series. Nothing else.
  static let script = """
    for(const b of document.querySelectorAll('.legend button'))b.addEventListener('click',()=>{
    const on=b.getAttribute('aria-pressed')==='false';b.setAttribute('aria-pressed',on);
    for(const e of b.closest('figure').querySelectorAll('[data-s="'+b.dataset.k+'"]'))e.classList.toggle('off',!on)});
    for(const s of document.querySelectorAll('svg[data-plot]')){const d=JSON.parse(s.dataset.plot),
    out=s.closest('figure').querySelector('.read'),hair=s.querySelector('.hair');if(!out||!hair)continue;
    s.addEventListener('pointermove',e=>{const r=s.getBoundingClientRect(),v=s.viewBox.baseVal,x=(e.clientX-r.left)/r.width*v.width;
    let best=-1,gap=1e9;d.px.forEach((p,i)=>{const g=Math.abs(p-x);if(g<gap){gap=g;best=i}});if(best<0)return;
    hair.setAttribute('x1',d.px[best]);hair.setAttribute('x2',d.px[best]);hair.style.visibility='visible';
    out.textContent=d.x[best]+' '+d.xu+': '+d.names.map((n,i)=>n+' '+(d.y[i][best]??'–')+(d.yu?' '+d.yu:'')).join(', ')});
    s.addEventListener('pointerleave',()=>{out.textContent='';hair.style.visibility='hidden'})}
    """
}
