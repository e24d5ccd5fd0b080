/// The page's style sheet: light and dark, narrow and wide. States are words, and colours only repeat them.
enum Style {
    static let text = """
        :root {
          --paper: #fbfbfa; --card: #ffffff; --ink: #1b1f24; --muted: #59636e; --line: #d8dde3; --accent: #0b5cad;
          --good: #17693a; --good-paper: #e3f4e8; --warn: #7a4d00; --warn-paper: #fdf0d3; --bad: #a1191f; --bad-paper: #fde7e6;
          --old: #b04a00; --new: #0b5cad;
          --none: #e4e7eb; --off: #b4bcc6; --dualwrite: #f0c36d; --shadow: #d99a2b; --live: #7fb2e5; --rampdown: #3f84cc; --complete: #0b4f96;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #12161b; --card: #1a2027; --ink: #e8ecf1; --muted: #9aa7b4; --line: #333d48; --accent: #7db7f5;
            --good: #7fd79b; --good-paper: #16301f; --warn: #f0c36d; --warn-paper: #37290d; --bad: #ff9d97; --bad-paper: #451a1a;
            --old: #f0a060; --new: #7db7f5;
            --none: #2a323b; --off: #5b6672; --dualwrite: #a9781f; --shadow: #d99a2b; --live: #3568a0; --rampdown: #4f94dc; --complete: #a6d0ff;
          }
        }
        * { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; }
        body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        header, main, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
        header { display: flex; justify-content: space-between; align-items: center; gap: 1rem; padding-top: 1rem; padding-bottom: .6rem; flex-wrap: wrap; }
        main.narrow { max-width: 30rem; }
        .name { margin: 0; }
        h1 { font-size: clamp(1.3rem, 1rem + 1.6vw, 1.9rem); line-height: 1.25; margin: .4rem 0 .6rem; font-weight: 650; text-wrap: pretty; }
        h2 { font-size: 1.15rem; margin: 0 0 .8rem; }
        h3 { font-size: 1rem; margin: 1rem 0 .4rem; }
        p { margin: .4rem 0; overflow-wrap: anywhere; }
        main > section { margin: 1rem 0; padding: 1.1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
        main > #summary { background: none; border: 0; padding: 0; margin-top: 1.4rem; }
        footer { padding-bottom: 3rem; font-size: .9rem; }
        .muted { color: var(--muted); } .small { font-size: .9rem; } .none { color: var(--muted); margin: 0; }
        a { color: var(--accent); }
        a:focus-visible, button:focus-visible, input:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .button, button { display: inline-block; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .45rem; background: var(--card);
          color: var(--ink); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer; }
        .button:hover, button:hover { border-color: var(--accent); }
        .pill, .word { display: inline-block; border-radius: 1rem; font-weight: 650; }
        .pill { padding: .15rem .8rem; } .word { padding: 0 .55rem; font-size: .9rem; }
        .state { margin: 0; }
        .good.pill, .good.word, .banner.good { background: var(--good-paper); color: var(--good); }
        .warn.pill, .warn.word, .banner.warn { background: var(--warn-paper); color: var(--warn); }
        .bad.pill, .bad.word, .banner.bad { background: var(--bad-paper); color: var(--bad); }
        .plain.pill, .plain.word { background: var(--none); color: var(--ink); }
        .banner { padding: .7rem 1rem; border-radius: .5rem; }
        .detail { color: var(--muted); }
        table { border-collapse: collapse; width: 100%; }
        caption { text-align: left; color: var(--muted); font-size: .9rem; padding-bottom: .3rem; }
        th, td { text-align: left; padding: .4rem 1.1rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; font-weight: 400; }
        thead th { color: var(--muted); font-size: .85rem; font-weight: 600; border-bottom-color: var(--muted); }
        tbody th { font-weight: 600; } .cards tbody th { min-width: 9rem; }
        th:last-child, td:last-child { padding-right: .3rem; } td.number, .word, thead th { white-space: nowrap; }
        tbody tr:last-child > * { border-bottom: 0; }
        th.number, td.number, .number { text-align: right; font-variant-numeric: tabular-nums; }
        tr.current > * { background: color-mix(in srgb, var(--accent) 9%, transparent); }
        tr.current > :first-child { box-shadow: inset 3px 0 0 var(--accent); padding-left: .6rem; }
        code { font: .88em/1.5 ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
        .command { margin: .3rem 0; }
        .command code { display: block; padding: .45rem .7rem; border-radius: .4rem; background: var(--paper); border: 1px solid var(--line); }
        .bar { display: block; width: 100%; height: 2.2rem; border-radius: .4rem; background: var(--none); }
        .stage-none { fill: var(--none); } .stage-off { fill: var(--off); } .stage-dualwrite { fill: var(--dualwrite); }
        .stage-shadow { fill: var(--shadow); } .stage-live { fill: var(--live); } .stage-rampdown { fill: var(--rampdown); }
        .stage-complete { fill: var(--complete); }
        .legend { list-style: none; margin: .8rem 0 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr));
          gap: .15rem 2rem; }
        .legend li { display: grid; grid-template-columns: 1rem 1fr auto 4.2rem; gap: .6rem; align-items: baseline; }
        .key { width: .8rem; height: .8rem; align-self: start; margin-top: .42rem; border: 1px solid var(--line); }
        .reason, .difference { padding: .7rem 0; border-bottom: 1px solid var(--line); }
        .reason:last-of-type, .difference:last-of-type { border-bottom: 0; padding-bottom: 0; }
        .reason:first-of-type, .difference:first-of-type { padding-top: 0; }
        .reason h3, .difference h3 { margin: 0; font-weight: 600; }
        .count { font-size: 1.15rem; font-weight: 700; font-variant-numeric: tabular-nums; margin-right: .35rem; }
        .kind { color: var(--muted); font-weight: 400; }
        .plots svg { width: 100%; height: auto; } .plots svg.narrow { display: none; } .plots svg.wide { display: block; }
        .grid { stroke: var(--line); stroke-width: 1; } .tick { fill: var(--muted); font-size: 11px; }
        .line { fill: none; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
        .line.old { stroke: var(--old); } .line.new { stroke: var(--new); } .line.p50 { stroke-dasharray: 1.5 4; }
        .end { font-size: 12px; font-weight: 600; } .end.old { fill: var(--old); } .end.new { fill: var(--new); }
        .area { fill: color-mix(in srgb, var(--accent) 25%, transparent); stroke: var(--accent); stroke-width: 1.5; }
        .figures { width: auto; min-width: min(100%, 30rem); margin-top: .6rem; }
        .facts { margin: 0; } .facts div { display: grid; grid-template-columns: minmax(12rem, 16rem) 1fr; gap: 0 1rem; padding: .3rem 0;
          border-bottom: 1px solid var(--line); } .facts div:last-child { border-bottom: 0; }
        dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; } dd.bad { color: var(--bad); font-weight: 650; }
        .audit { list-style: none; margin: 0; padding: 0; } .audit li { padding: .3rem 0; border-bottom: 1px solid var(--line);
          overflow-wrap: anywhere; }
        .audit li:last-child { border-bottom: 0; } .audit li.bad strong { color: var(--bad); }
        .audit time { color: var(--muted); font-variant-numeric: tabular-nums; margin: 0 .5rem; }
        .forms { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; margin: 1rem 0 2rem; }
        .forms form { padding: 1.1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
        .forms form.danger { border-color: var(--bad); } .forms form.danger button { background: var(--bad); color: var(--card); border-color: var(--bad); }
        form.leave { margin-bottom: 2rem; }
        label { display: block; margin: .7rem 0 .2rem; font-weight: 600; font-size: .92rem; }
        input { width: 100%; padding: .5rem .6rem; font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--muted);
          border-radius: .4rem; }
        form button { margin-top: 1rem; }
        @media (max-width: 46rem) {
          header, main, footer { padding-left: .9rem; padding-right: .9rem; }
          main > section { padding: .9rem; }
          .plots svg.narrow { display: block; } .plots svg.wide { display: none; }
          .cards, .cards tbody, .cards tr, .cards th, .cards td { display: block; }
          .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
          .cards tr { padding: .6rem 0; border-bottom: 1px solid var(--line); } .cards tr:last-child { border-bottom: 0; }
          .cards tr > * { border: 0; padding: .1rem 0; } .cards th { font-size: 1.02rem; }
          .cards td { display: flex; justify-content: space-between; gap: 1rem; text-align: right; }
          .cards td::before { content: attr(data-label); color: var(--muted); flex: none; }
          .cards tbody th { min-width: 0; }
          tr.current { box-shadow: inset 3px 0 0 var(--accent); padding-left: .7rem !important; }
          tr.current > * { background: none; } tr.current > :first-child { box-shadow: none; padding-left: 0; }
          .legend { grid-template-columns: 1fr; } .facts div { grid-template-columns: 1fr; }
        }
        @media (prefers-reduced-motion: no-preference) { .bar rect { transition: x .4s, width .4s; } }
        """
}
