/// The report's HTML.
///
/// Mustache escapes everything between double braces.
enum HTMLReportTemplate {
    static let texts = [
        "list": """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        {{> head}}
        <title>Scenarios: {{runVerdict}}</title>
        </head>
        <body>
        <main>
        <header><h1>Scenarios</h1>
        <p class="verdict {{runVerdict}}">{{runVerdict}}</p>
        <p class="about">{{summary}}</p></header>
        <section><h2>Results</h2>
        <div class="scroll" role="region" tabindex="0" aria-label="Results">
        <table>
        <thead><tr><th scope="col">Scenario</th><th scope="col">Result</th><th scope="col">Steps</th>\
        <th scope="col">Time</th></tr></thead>
        <tbody>
        {{#rows}}
        <tr><th scope="row"><a href="{{address}}">{{name}}</a></th>\
        <td><span class="verdict {{verdict}}">{{verdict}}</span></td><td>{{steps}}</td><td>{{time}}</td></tr>
        {{/rows}}
        </tbody>
        </table>
        </div>
        </section>
        <section><h2>{{coverage}}</h2>
        <div class="scroll" role="region" tabindex="0" aria-label="Coverage of the flows">
        <table>
        <thead><tr><th scope="col">Flow</th><th scope="col">Reached</th><th scope="col">Not reached</th></tr></thead>
        <tbody>
        {{#flows}}
        <tr><th scope="row">{{flow}}</th><td>{{reached}}</td>\
        <td class="wrap{{#isMissing}} bad{{/isMissing}}">{{missing}}</td></tr>
        {{/flows}}
        </tbody>
        </table>
        </div>
        </section>
        </main>
        </body>
        </html>

        """,
        "scenario": """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        {{> head}}
        <title>{{name}}: {{verdict}}</title>
        </head>
        <body>
        <main>
        <nav><a href="index.html">All scenarios</a>{{#before}}<a href="{{.}}">Previous</a>{{/before}}\
        {{#after}}<a href="{{.}}">Next</a>{{/after}}</nav>
        <header><h1>{{caseName}}</h1>
        <p class="verdict {{verdict}}">{{verdict}}</p>
        <p class="title">{{title}}</p>
        <p class="about">{{about}}</p></header>
        {{#notes}}
        <section class="note"><h2>{{heading}}</h2>
        <p>{{note}}</p>
        {{#target}}<p><a href="#{{.}}">Go to the step</a></p>{{/target}}
        {{#differenceRows}}{{> differences}}{{/differenceRows}}
        </section>
        {{/notes}}
        {{#steps}}
        <section id="step-{{number}}" class="step {{state}}">
        <h2><span class="line">Line {{line}}</span> {{text}} <span class="line">{{time}}\
        {{#onPhone}} · phone {{.}}{{/onPhone}}</span></h2>
        {{#problem}}<p class="problem">{{.}}</p>{{/problem}}
        {{#differenceRows}}{{> differences}}{{/differenceRows}}
        {{#screen}}
        <div class="scroll" role="region" tabindex="0" aria-label="{{label}}">
        <pre class="screen">{{#rows}}{{#runs}}<span class="{{style}}">{{words}}</span>{{/runs}}&#10;{{/rows}}</pre>
        </div>
        {{/screen}}
        {{^screen}}<p class="line">The screen has not changed.</p>{{/screen}}
        {{#trace}}<p class="trace"><span class="line">Steps of the flows</span> {{.}}</p>{{/trace}}
        {{#log}}
        <details{{#isOpen}} open{{/isOpen}}><summary>{{heading}}</summary>
        <pre class="log">{{lines}}</pre>
        </details>
        {{/log}}
        </section>
        {{/steps}}
        </main>
        </body>
        </html>

        """,
        "head": """
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="{{policy}}">
        <style>
        {{{styleSheet}}}
        </style>

        """,
        "differences": """
        <div class="scroll" role="region" tabindex="0" aria-label="Differences">
        <table>
        <thead><tr><th scope="col">Value</th><th scope="col">Expected</th><th scope="col">Seen</th></tr></thead>
        <tbody>
        {{#entries}}
        <tr><th scope="row">{{what}}</th>\
        <td class="wrap">{{#expected}}{{> marked}}{{/expected}}</td>\
        <td class="wrap">{{#seen}}{{> marked}}{{/seen}}</td>\
        </tr>
        {{/entries}}
        </tbody>
        </table>
        </div>

        """,
        "marked": "{{head}}{{#middle}}<mark>{{.}}</mark>{{/middle}}{{tail}}",
    ]
}
