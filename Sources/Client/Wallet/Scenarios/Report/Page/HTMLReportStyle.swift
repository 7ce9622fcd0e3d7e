/// The report's style sheet, with a light and a dark theme.
enum HTMLReportStyle {
    static let sheet = """
        :root {
          color-scheme: light dark;
          --paper: #f6f7f9; --card: #ffffff; --ink: #17202b; --soft: #566273; --rule: #dfe4ea; --link: #1d5fd1;
          --bad: #b3202a; --good: #17753a; --warn: #8a5300; --value: #0f6f66; --system: #1d5fd1;
          --bad-tint: #fdecec; --good-tint: #e6f5eb; --warn-tint: #fff3d6; --mark: #ffd6d6;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #0f141a; --card: #181f28; --ink: #e7ecf2; --soft: #a3afbd; --rule: #2d3743; --link: #82b4ff;
            --bad: #ff8a8a; --good: #5fd68c; --warn: #f0b95a; --value: #4fd1c0; --system: #82b4ff;
            --bad-tint: #3a1c20; --good-tint: #163023; --warn-tint: #342b14; --mark: #6b2228;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
          font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
        main { max-width: 1000px; margin: 0 auto; padding: 20px 16px 56px; }
        h1 { font-size: 1.6rem; line-height: 1.2; margin: 0; }
        h2 { font-size: 1.05rem; line-height: 1.35; margin: 0 0 8px; }
        a { color: var(--link); }
        nav { display: flex; gap: 4px 20px; flex-wrap: wrap; margin-bottom: 8px; }
        nav a { display: inline-flex; align-items: center; min-height: 44px; }
        header { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; margin-bottom: 20px; }
        .verdict { margin: 0; padding: 1px 12px; border-radius: 999px; font-weight: 650; white-space: nowrap; }
        .passed { background: var(--good-tint); color: var(--good); }
        .failed.verdict { background: var(--bad-tint); color: var(--bad); }
        .flaky, .known-failure, .skipped.verdict { background: var(--warn-tint); color: var(--warn); }
        .passed::before { content: "✓ " / ""; } .failed.verdict::before { content: "✗ " / ""; }
        .title, .about { flex-basis: 100%; margin: 0; } .about, .line { color: var(--soft); }
        .line { font-size: .9rem; font-weight: 400; }
        section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 14px 16px;
          margin: 0 0 14px; }
        section p { margin: 6px 0; }
        .note { background: var(--warn-tint); }
        .step.failed { border: 2px solid var(--bad); }
        .problem { color: var(--bad); font-weight: 600; } .skipped .problem { color: var(--warn); }
        .scroll { overflow-x: auto; }
        :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
        table { border-collapse: collapse; width: 100%; font-size: .94rem; font-variant-numeric: tabular-nums; }
        th, td { padding: 5px 10px 5px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
        td { white-space: nowrap; } td.wrap { white-space: normal; } td.bad { color: var(--bad); }
        th { font-weight: 500; min-width: 8em; } thead th { color: var(--soft); font-weight: 400; min-width: 0;
            white-space: nowrap; }
        mark { background: var(--mark); color: var(--ink); padding: 1px 2px; border-radius: 3px; font-weight: 600; }
        pre { margin: 0; font-family: "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace; }
        pre.screen { font-size: clamp(8.5px, 2.85vw, 14px); line-height: 1.2; width: max-content; padding: 4px; }
        pre.log { font-size: .8rem; white-space: pre-wrap; margin-top: 6px; }
        pre .dim { color: var(--soft); } pre .title { font-weight: 700; } pre .warning { color: var(--warn); }
        pre .value { color: var(--value); font-weight: 700; } pre .system { color: var(--system); }
        pre .selected { background: var(--ink); color: var(--card); }
        .trace { font-size: .9rem; font-variant-numeric: tabular-nums; }
        summary { cursor: pointer; min-height: 32px; }
        @media print { body { background: none; } section { break-inside: avoid; } }
        """
}
