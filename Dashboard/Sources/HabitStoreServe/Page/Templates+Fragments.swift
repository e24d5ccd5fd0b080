extension Templates {
    /// Shown for parts of a fleet that cannot be read, because an empty part would look as if all were well.
    static let unknown = "<p class=\"none\">Unknown, because the fleet cannot be read.</p>"

    /// The parts that are known even without a fleet.
    static let needNoFleet: Set = ["summary", "switch"]

    /// The parts of the page that are replaced while it is open, by the ids of their elements.
    ///
    /// Tables have explicit roles, which they would otherwise lose on narrow screens, where they are displayed as lists.
    static let fragments: KeyValuePairs<String, String> = [
        "summary": """
        {{#kill}}<p class="banner bad" role="alert"><strong>Killed.</strong> {{kill}}</p>{{/kill}}
        <p class="state"><span class="pill {{stateClass}}">{{state}}</span></p>
        <h1>{{sentence}}</h1>
        {{^empty(problem)}}<p class="banner bad" role="alert">{{#problem}}{{>piece}}{{/problem}}</p>{{/empty(problem)}}
        {{#halt}}<div class="help"><p>{{#meaning}}{{>piece}}{{/meaning}}</p><p class="command"><code>{{command}}</code></p>
        <p class="muted">It worked if: {{#check}}{{>piece}}{{/check}}</p></div>{{/halt}}
        {{#details}}<p class="detail">{{#pieces}}{{>piece}}{{/pieces}}</p>{{/details}}
        """,
        "differences": """
        {{^differences}}<p class="none">No difference is known between any user's stores.</p>{{/differences}}
        {{#differences}}<article class="difference"><h3><code>{{user}}</code> <span class="muted">at {{stage}}</span></h3>
        <p>{{message}}</p><p class="command"><code>{{replay}}</code></p>
        <p class="muted">If the store that serves is right:</p><p class="command"><code>{{help}}</code></p></article>{{/differences}}
        {{#moreDifferences}}<p class="muted">and {{moreDifferences}}</p>{{/moreDifferences}}
        """,
        "stages": """
        <svg class="bar" viewBox="0 0 1000 40" preserveAspectRatio="none" role="img" aria-label="Users by stage; the figures follow">
        {{#stages}}<rect class="{{className}}" x="{{x}}" y="0" width="{{width}}" height="40"/>{{/stages}}
        </svg>
        <ul class="legend">
        {{#stages}}<li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="{{className}}" width="10" height="10"/></svg>
        <span class="what"><strong>{{name}}</strong> <span class="muted">{{meaning}}</span></span>
        <span class="number">{{users}}</span><span class="number muted">{{percent}}</span></li>{{/stages}}
        </ul>
        """,
        "waves": """
        {{^empty(waves)}}<table class="cards" role="table"><thead role="rowgroup"><tr role="row">
        <th role="columnheader" scope="col">Wave</th><th role="columnheader" scope="col">State</th>
        <th role="columnheader" scope="col" class="number">Users</th><th role="columnheader" scope="col" class="number">There</th>
        <th role="columnheader" scope="col">Soak left</th><th role="columnheader" scope="col" class="number">Clean reads</th>
        <th role="columnheader" scope="col" class="number">Writes</th><th role="columnheader" scope="col" class="number">Refused</th>
        </tr></thead><tbody role="rowgroup">{{/empty(waves)}}
        {{#waves}}<tr role="row"{{#isCurrent}} class="current" aria-current="step"{{/isCurrent}}>
        <th role="rowheader" scope="row"><span class="muted">{{number}}</span> {{name}}</th>
        <td role="cell" data-label="State"><span class="word {{stateClass}}">{{state}}</span></td>
        <td role="cell" data-label="Users" class="number">{{users}}</td><td role="cell" data-label="There" class="number">{{arrived}}</td>
        <td role="cell" data-label="Soak left">{{soak}}</td><td role="cell" data-label="Clean reads" class="number">{{cleanReads}}</td>
        <td role="cell" data-label="Writes" class="number">{{writes}}</td>
        <td role="cell" data-label="Refused" class="number">{{refused}}</td></tr>{{/waves}}
        {{^empty(waves)}}</tbody></table>{{/empty(waves)}}
        """,
        "waiting": """
        {{^reasons}}<p class="none">No user waits.</p>{{/reasons}}
        {{#reasons}}<article class="reason"><h3><span class="count">{{users}}</span> {{#symptom}}{{>piece}}{{/symptom}} <code class="kind">{{kind}}</code></h3>
        <p>{{#meaning}}{{>piece}}{{/meaning}}</p><p class="command"><code>{{command}}</code></p>
        {{^empty(check)}}<p class="muted">It worked if: {{#check}}{{>piece}}{{/check}}</p>{{/empty(check)}}</article>{{/reasons}}
        """,
        "timing": """
        {{^empty(figures)}}<div class="plots">{{#plots}}{{{.}}}{{/plots}}</div>
        <table class="figures"><caption>Medians of the last day, and how the new store compares</caption><thead><tr>
        <th scope="col">Writes</th><th scope="col" class="number">Old</th><th scope="col" class="number">New</th>
        <th scope="col">New is</th></tr></thead><tbody>{{/empty(figures)}}
        {{#figures}}<tr><th scope="row">{{what}}</th><td class="number">{{old}}</td><td class="number">{{new}}</td><td>{{change}}</td></tr>{{/figures}}
        {{^empty(figures)}}</tbody></table>{{/empty(figures)}}
        {{^figures}}<p class="none">No writes were recorded in the last day.</p>{{/figures}}
        <h3>Lag</h3><p>{{lag}}</p>
        <div class="plots">{{#lagPlots}}{{{.}}}{{/lagPlots}}</div>
        """,
        "switch": """
        <dl class="facts">{{#killFacts}}<div><dt>{{name}}</dt><dd{{#isBad}} class="bad"{{/isBad}}>{{value}}</dd></div>{{/killFacts}}</dl>
        """,
        "people": """
        <h3>Waiting longest</h3>{{^slowest}}<p class="none">No user waits.</p>{{/slowest}}{{^empty(slowest)}}\(tableBegin){{/empty(slowest)}}
        {{#slowest}}\(userRow){{/slowest}}{{^empty(slowest)}}</tbody></table>{{/empty(slowest)}}
        <h3>Largest</h3>{{^empty(largest)}}\(tableBegin){{/empty(largest)}}
        {{#largest}}\(userRow){{/largest}}{{^empty(largest)}}</tbody></table>{{/empty(largest)}}
        """,
        "audit": """
        <p class="{{#isAuditDamaged}}banner bad{{/isAuditDamaged}}{{^isAuditDamaged}}muted{{/isAuditDamaged}}">{{auditState}}</p>
        <ol class="audit">{{#audit}}<li{{#isBad}} class="bad"{{/isBad}}><span class="muted">{{number}}</span>
        <time datetime="{{precise}}">{{time}}</time> <strong>{{what}}</strong> <span>{{details}}</span></li>{{/audit}}</ol>
        """,
    ]

    private static let tableBegin = """
        <table class="cards" role="table"><thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">User</th>
        <th role="columnheader" scope="col">Wave</th><th role="columnheader" scope="col">Stage</th>
        <th role="columnheader" scope="col" class="number">Stores</th><th role="columnheader" scope="col" class="number">There for</th>
        <th role="columnheader" scope="col">Waits by</th></tr></thead><tbody role="rowgroup">
        """

    private static let userRow = """
        <tr role="row"><th role="rowheader" scope="row"><code>{{user}}</code></th><td role="cell" data-label="Wave">{{wave}}</td>
        <td role="cell" data-label="Stage">{{stage}}</td><td role="cell" data-label="Stores" class="number">{{size}}</td>
        <td role="cell" data-label="There for" class="number">{{since}}</td><td role="cell" data-label="Waits by">{{reasons}}</td></tr>
        """
}
