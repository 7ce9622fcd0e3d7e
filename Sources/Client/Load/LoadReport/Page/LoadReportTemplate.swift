/// The HTML template for the page.
///
/// Mustache escapes every value in double braces.
enum LoadReportTemplate {
    static let text = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="{{policy}}">
        <title>PIN load: {{result}}, {{target}}</title>
        <style>
        {{{styleSheet}}}
        </style>
        </head>
        <body>
        <main>
        <header>
        <h1>PIN load</h1>
        <p class="verdict {{result}}">{{result}}{{#failures}} <small>{{failures}}</small>{{/failures}}</p>
        <p class="about">{{headline}} · <time datetime="{{startTime}}">{{startText}}</time></p>
        </header>
        <dl class="tiles">
        {{#tiles}}
        <div{{#isBad}} class="bad"{{/isBad}}><dt>{{name}}</dt><dd>{{value}}</dd><dd class="detail">{{detail}}</dd></div>
        {{/tiles}}
        </dl>
        {{#warnings}}
        {{> part}}
        {{/warnings}}
        <div class="charts">
        {{#charts}}
        {{> chart}}
        {{/charts}}
        </div>
        {{#parts}}
        {{> part}}
        {{/parts}}
        {{#data}}
        <details><summary>Data of the plots</summary>
        {{> table}}
        </details>
        {{/data}}
        </main>
        </body>
        </html>

        """

    /// The parts of the page, by the name used to include them.
    static let partials = [
        "part": """
        <section{{#partStyle}} class="{{partStyle}}"{{/partStyle}}>
        <h2>{{heading}}{{#verdict}} <span class="badge {{verdict}}">{{verdict}}</span>{{/verdict}}</h2>
        {{#sentences}}
        <p>{{.}}</p>
        {{/sentences}}
        {{#items}}
        {{#first()}}<ul>{{/first()}}<li>{{.}}</li>{{#last()}}</ul>{{/last()}}
        {{/items}}
        {{#tables}}
        {{> table}}
        {{/tables}}
        </section>

        """,
        "table": """
        <div class="scroll" role="region" tabindex="0" aria-label="{{caption}}">
        <table{{#isLeft}} class="left"{{/isLeft}}>
        <caption{{#isCaptionHidden}} class="hidden"{{/isCaptionHidden}}>{{caption}}</caption>
        {{#columns}}
        {{#first()}}<thead><tr>{{/first()}}<th scope="col">{{.}}</th>{{#last()}}</tr></thead>{{/last()}}
        {{/columns}}
        <tbody>
        {{#rows}}
        <tr><th scope="row" class="{{head.style}}">{{head.text}}</th>\
        {{#cells}}<td class="{{style}}">{{text}}</td>{{/cells}}</tr>
        {{/rows}}
        </tbody>
        </table>
        </div>

        """,
        "chart": """
        <figure>
        <figcaption><h2>{{title}}</h2>
        <ul class="legend">
        {{#lines}}
        <li><svg viewBox="0 0 24 8" class="key" aria-hidden="true"><path class="line {{lineStyle}}" d="M1 4H23"/></svg>\
        {{name}}</li>
        {{/lines}}
        {{#bands}}
        {{#first()}}<li><span class="key warm"></span>{{label}}</li>{{/first()}}
        {{/bands}}
        </ul></figcaption>
        <svg viewBox="0 0 {{frame.width}} {{frame.height}}" role="img" aria-labelledby="{{id}}-t {{id}}-d">
        <title id="{{id}}-t">{{title}}</title>
        <desc id="{{id}}-d">{{summary}}</desc>
        {{#bands}}
        <rect class="warm" x="{{x}}" y="{{frame.top}}" width="{{span}}" height="{{frame.rise}}">\
        <title>{{label}}</title></rect>
        {{/bands}}
        <g class="axis" aria-hidden="true">
        {{#yTicks}}
        <path d="M{{frame.left}} {{place}}H{{frame.right}}"/>\
        <text x="{{frame.labelX}}" y="{{place}}" dy=".35em" class="y">{{label}}</text>
        {{/yTicks}}
        {{#xTicks}}
        <path d="M{{place}} {{frame.bottom}}v4" class="tick"/>\
        <text x="{{place}}" y="{{frame.labelY}}" class="x{{#isAtEnd}} last{{/isAtEnd}}">{{label}}</text>
        {{/xTicks}}
        </g>
        {{#lines}}
        {{#area}}<path class="area {{lineStyle}}" d="{{area}}"/>{{/area}}<path class="line {{lineStyle}}" d="{{path}}"/>
        {{/lines}}
        {{#marks}}
        <path class="mark" d="M{{place}} {{frame.top}}V{{frame.bottom}}"><title>{{label}}</title></path>
        {{/marks}}
        {{#hints}}
        <rect class="hint" x="{{x}}" y="{{frame.top}}" width="{{span}}" height="{{frame.rise}}">\
        <title>{{label}}</title></rect>
        {{/hints}}
        </svg>
        </figure>

        """,
    ]
}
