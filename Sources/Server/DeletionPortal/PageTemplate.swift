internal import Mustache

/// The HTML template for all pages.
///
/// Values in double braces are escaped. Only the style sheet, which is constant, is inserted unchanged.
enum PageTemplate {
    /// The template of every page: a head, a language switch, one card and a footer.
    static let text = """
        <!DOCTYPE html>
        <html lang="{{language}}">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>{{title}}</title>
        <style>{{{style}}}</style>
        </head>
        <body>
        <header>
        <p class="product">{{product}}</p>
        <nav class="languages" aria-label="{{words.languages}}">
        <ul>
        {{#languages}}
        <li>{{#isCurrent}}\
        <a href="{{path}}" lang="{{code}}" hreflang="{{code}}" aria-current="true">{{name}}</a>{{/isCurrent}}\
        {{#isLink}}<a href="{{path}}" lang="{{code}}" hreflang="{{code}}">{{name}}</a>{{/isLink}}\
        {{#isButton}}<form method="post" action="{{path}}"><input type="hidden" name="code" value="{{typed}}">\
        <input type="hidden" name="seal" value="{{seal}}"><button name="step" value="{{step}}" lang="{{code}}">{{name}}\
        </button></form>{{/isButton}}</li>
        {{/languages}}
        </ul>
        </nav>
        </header>
        <main>
        <div class="card">
        {{#form}}
        <h1>{{words.title}}</h1>
        {{#notice}}
        <div class="notice note"><p>{{notice}}</p></div>
        {{/notice}}
        <p>{{words.introduction}}</p>
        <form method="post" action="{{path}}" novalidate>
        <input type="hidden" name="seal" value="{{seal}}">
        <div class="field{{#error}} wrong{{/error}}">
        <label for="code">{{words.label}}</label>
        <p class="hint" id="hint">{{words.hint}}</p>
        {{#error}}
        <p class="error" id="error"><span aria-hidden="true">⚠ </span>{{error}}</p>
        {{/error}}
        <input type="text" id="code" name="code" value="{{typed}}" maxlength="100" autocomplete="off" \
        autocapitalize="characters" autocorrect="off" spellcheck="false" translate="no" enterkeyhint="next" required \
        aria-describedby="hint{{#error}} error{{/error}}"{{#error}} aria-invalid="true"{{/error}}{{#focus}} \
        autofocus{{/focus}}>
        </div>
        <p class="soft">{{words.nothingYet}}</p>
        <div class="actions"><button class="button" name="step" value="check">{{words.next}}</button></div>
        </form>
        <details>
        <summary>{{words.noCode}}</summary>
        <p>{{words.noCodeInApp}}</p>
        {{#helpLink}}
        <p>{{words.noCodeHelp}} <a href="{{helpLink}}" rel="noreferrer">{{words.help}}</a></p>
        {{/helpLink}}
        </details>
        {{/form}}
        {{#question}}
        <h1 tabindex="-1" autofocus>{{words.question}}</h1>
        <p class="code"><strong>{{words.questionCode}}</strong> <code translate="no">{{typed}}</code></p>
        <ul class="plain">
        {{#words.consequences}}
        <li>{{.}}</li>
        {{/words.consequences}}
        </ul>
        <form method="post" action="{{path}}">
        <input type="hidden" name="code" value="{{typed}}">
        <input type="hidden" name="seal" value="{{seal}}">
        <div class="actions"><button class="button final" name="step" value="delete">{{words.yes}}</button>\
        <button class="button second" name="step" value="back">{{words.no}}</button></div>
        </form>
        {{/question}}
        {{#done}}
        <h1 tabindex="-1" autofocus>{{heading}}</h1>
        <div class="notice good"><p><strong>{{words.doneAt}}</strong> \
        <time class="when" datetime="{{timestamp}}">{{when}}</time> <span>{{zone}}</span></p></div>
        <ul class="plain">
        {{#words.doneNext}}
        <li>{{.}}</li>
        {{/words.doneNext}}
        </ul>
        {{/done}}
        {{#trouble}}
        <h1 tabindex="-1" autofocus>{{heading}}</h1>
        <p>{{text}}</p>
        {{#when}}
        <div class="notice note"><p><strong>{{words.limitedUntil}}</strong> \
        <time class="when" datetime="{{timestamp}}">{{when}}</time> <span>{{zone}}, {{wait}}</span></p></div>
        {{/when}}
        {{#isRetry}}
        <form method="post" action="{{path}}">
        <input type="hidden" name="code" value="{{typed}}">
        <input type="hidden" name="seal" value="{{seal}}">
        <div class="actions"><button class="button" name="step" value="delete">{{words.again}}</button></div>
        </form>
        {{/isRetry}}
        {{#isEnd}}
        <div class="actions"><a class="button second" href="{{path}}">{{words.startOver}}</a></div>
        {{/isEnd}}
        {{#helpLink}}
        <p class="actions"><a href="{{helpLink}}" rel="noreferrer">{{words.help}}</a></p>
        {{/helpLink}}
        {{/trouble}}
        </div>
        </main>
        <footer><p>{{words.footer}}</p></footer>
        </body>
        </html>

        """

    /// Parses the template.
    ///
    /// Called only once. Every test of a page also tests that the template is valid.
    static func parsed() throws -> MustacheTemplate { try MustacheTemplate(string: Self.text) }
}
