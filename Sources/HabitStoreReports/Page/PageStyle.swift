/// The style of a page, in light and dark mode.
enum PageStyle {
    static let sheet = Markup.program(
        """
        :root { color-scheme: light dark; --ink: #1c2024; --dim: #5d6570; --paper: #ffffff; --panel: #f4f5f7;
          --line: #dcdfe4; --good: #1a7f4b; --bad: #b3261e; --unsure: #8a5a00; --mark: #ffe08a; --markink: #1c2024;
          --a: #2f6fd0; --b: #c2571a; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #e7e9ec; --dim: #9aa3ad; --paper: #15181c; --panel: #1e2227; --line: #353b43;
            --good: #4cc38a; --bad: #ff8078; --unsure: #f0b44c; --mark: #6b5200; --markink: #fff3cf;
            --a: #6ea4f4; --b: #f0935a; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink);
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
        header { background: var(--panel); border-left: .5rem solid var(--tone); border-radius: .5rem;
          padding: 1.5rem 2rem; }
        header.good { --tone: var(--good); } header.bad { --tone: var(--bad); } header.unsure { --tone: var(--unsure); }
        h1 { margin: 0; font-size: 3.5rem; line-height: 1.1; color: var(--tone); }
        h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem; }
        .sentence { font-size: 1.25rem; margin: .5rem 0 1rem; }
        .note { color: var(--dim); font-size: .875rem; margin: .25rem 0; }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; }
        th { text-align: left; font-weight: 600; color: var(--dim); font-size: .8125rem; }
        th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        .number { text-align: right; font-variant-numeric: tabular-nums; }
        .value, code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .8125rem; }
        td.value { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 9rem; }
        mark { background: var(--mark); color: var(--markink); border-radius: .2rem; padding: 0 .1rem; }
        .same { color: var(--good); } .differs { color: var(--bad); font-weight: 600; }
        .storeA { color: var(--a); font-weight: 700; } .storeB { color: var(--b); font-weight: 700; }
        svg { width: 100%; height: auto; display: block; }
        svg text { fill: var(--ink); } svg .tick { fill: var(--dim); }
        svg .grid { stroke: var(--line); stroke-width: 1; }
        .barA { fill: var(--a); } .barB { fill: var(--b); }
        @media print { main { max-width: none; padding: 0; } }

        """
    )
}
