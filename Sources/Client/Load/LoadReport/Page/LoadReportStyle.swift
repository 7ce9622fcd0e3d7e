/// The page's style sheet for light and dark mode, including the plot colors.
enum LoadReportStyle {
    static let sheet = """
        :root {
          color-scheme: light dark;
          --paper: #f6f7f9; --card: #ffffff; --ink: #17202b; --soft: #566273; --rule: #dfe4ea; --grid: #e8ecf1;
          --a: #1d5fd1; --b: #c2410c; --c: #0f766e; --d: #7e22ce; --quiet: #78838f; --bad: #c0262d; --good: #17753a;
          --bad-tint: #fdecec; --good-tint: #e6f5eb; --note-tint: #fff6e0; --warm: #eef0f3;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #0f141a; --card: #181f28; --ink: #e7ecf2; --soft: #a3afbd; --rule: #2d3743; --grid: #28313c;
            --a: #6ea8ff; --b: #ff9e5e; --c: #4fd1c0; --d: #cf9dff; --quiet: #8e9aa8; --bad: #ff8a8a; --good: #5fd68c;
            --bad-tint: #3a1c20; --good-tint: #163023; --note-tint: #342b14; --warm: #222b36;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: break-word;
          font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
        main { max-width: 1080px; margin: 0 auto; padding: 28px 16px 56px; }
        h1 { font-size: 1.6rem; line-height: 1.2; margin: 0; }
        h2 { font-size: 1.05rem; line-height: 1.3; margin: 0 0 8px; }
        header { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; margin-bottom: 20px; }
        .verdict { margin: 0; padding: 3px 14px; border-radius: 999px; font-weight: 650; }
        .passed::before { content: "✓ " / ""; } .failed::before { content: "✗ " / ""; }
        .verdict small { font-weight: 400; font-size: .9rem; margin-left: 10px; }
        .passed { background: var(--good-tint); color: var(--good); }
        .failed { background: var(--bad-tint); color: var(--bad); }
        .about { flex-basis: 100%; margin: 0; color: var(--soft); }
        .tiles { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; margin: 0 0 20px; }
        .tiles div { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 12px 14px; }
        .tiles dt { color: var(--soft); font-size: .85rem; line-height: 1.3; }
        .tiles dd { margin: 2px 0 0; font-size: 1.45rem; line-height: 1.25; font-weight: 650;
          font-variant-numeric: tabular-nums; }
        .tiles dd.detail { font-size: .85rem; font-weight: 400; color: var(--soft); }
        .tiles .bad dd:not(.detail) { color: var(--bad); }
        section, figure, details { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
          padding: 16px; margin: 0 0 16px; }
        .callout { background: var(--note-tint); }
        .callout.bad { background: var(--bad-tint); }
        .callout ul, .callout p { margin: 4px 0 0; }
        .callout ul { padding-left: 20px; }
        .charts { display: grid; gap: 16px; margin-bottom: 16px; }
        .charts figure { margin: 0; min-width: 0; display: flex; flex-direction: column;
          justify-content: space-between; }
        @media (min-width: 720px) {
          .charts { grid-template-columns: 1fr 1fr; } .tiles { grid-template-columns: repeat(4, 1fr); }
        }
        figure svg { display: block; width: 100%; height: auto; }
        .legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 0 0 8px; padding: 0;
          font-size: .85rem; color: var(--soft); min-height: 1.5em; }
        .legend li { display: flex; align-items: center; gap: 6px; }
        .legend .key { width: 24px; height: 8px; flex: none; }
        .legend span.warm { width: 14px; height: 14px; background: var(--warm); border: 1px solid var(--rule); }
        .line { fill: none; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }
        .line.a { stroke: var(--a); } .line.b { stroke: var(--b); } .line.c { stroke: var(--c); }
        .line.d { stroke: var(--d); } .line.bad { stroke: var(--bad); }
        .line.quiet { stroke: var(--quiet); stroke-width: 1.2; }
        .line.dashed { stroke-dasharray: 5 4; stroke-width: 1.3; }
        .area { opacity: .13; stroke: none; } .area.a { fill: var(--a); }
        .axis path { stroke: var(--grid); fill: none; } .axis path.tick { stroke: var(--quiet); }
        .axis text { fill: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; }
        @media (min-width: 720px) { .axis text { font-size: 9.5px; } }
        .axis .y { text-anchor: end; } .axis .x { text-anchor: middle; } .axis .last { text-anchor: end; }
        rect.warm { fill: var(--warm); }
        .mark { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 1 3; opacity: .7; }
        .hint { fill: transparent; } .hint:hover { fill: var(--a); fill-opacity: .12; }
        /* A shadow at the side to which the table scrolls. */
        .scroll { overflow-x: auto; background:
            linear-gradient(90deg, var(--card) 30%, transparent) 0 0 / 40px 100% no-repeat local,
            linear-gradient(270deg, var(--card) 30%, transparent) 100% 0 / 40px 100% no-repeat local,
            linear-gradient(90deg, var(--rule), transparent) 0 0 / 12px 100% no-repeat scroll,
            linear-gradient(270deg, var(--rule), transparent) 100% 0 / 12px 100% no-repeat scroll; }
        .scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--a); outline-offset: 2px; }
        .scroll + .scroll { margin-top: 18px; }
        table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
        caption { text-align: left; color: var(--soft); padding-bottom: 4px; font-size: .92rem; }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
          white-space: nowrap; }
        th, td { padding: 5px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule);
          vertical-align: top; }
        tbody tr:last-child > * { border-bottom: 0; }
        th:first-child, td:first-child { padding-left: 0; } th:last-child, td:last-child { padding-right: 0; }
        th { font-weight: 500; } thead th { color: var(--soft); font-weight: 400; }
        th:first-child, .left th, .left td { text-align: left; }
        td.wrap { white-space: normal; overflow-wrap: anywhere; }
        .code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .88em; }
        td.good { color: var(--good); } td.bad, th.bad { color: var(--bad); }
        td.good::before { content: "✓ " / ""; } td.bad::before { content: "✗ " / ""; }
        td.good, td.bad { font-weight: 600; } td.quiet { color: var(--soft); }
        .badge { font-size: .9rem; font-weight: 400; margin-left: 6px; padding: 1px 10px; border-radius: 999px; }
        time { white-space: nowrap; }
        @media (max-width: 560px) {
          section, figure, details { padding: 14px 12px; }
          table { font-size: .86rem; } th, td { padding: 5px 6px; }
        }
        summary { cursor: pointer; font-weight: 600; }
        details[open] summary { margin-bottom: 10px; }
        @media print { body { background: none; } section, figure { break-inside: avoid; } }
        """
}
