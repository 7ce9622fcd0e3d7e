internal import Crypto
internal import Foundation

/// The page's only style sheet.
///
/// It is inline and allowed by the content security policy through its hash.
enum Style {
    static let sheet = """
        :root{color-scheme:light dark;--ink:#16202b;--soft:#51606f;--paper:#f3f6f9;--card:#fff;--line:#7b8a99;\
        --edge:#d9e1e8;--act:#0b57a4;--act-ink:#fff;--act-hover:#08447f;--focus:#0b57a4;--bad:#b3261e;\
        --bad-hover:#8c1d18;--bad-paper:#fdf1f0;--good:#1b6b3a;--good-paper:#eef8f1;--note-paper:#eef4fb}
        @media (prefers-color-scheme:dark){:root{--ink:#eef2f6;--soft:#aebccb;--paper:#0e141b;--card:#18212b;\
        --line:#8494a5;--edge:#2c3947;--act:#7db8f5;--act-ink:#08223d;--act-hover:#a5cff9;--focus:#a5cff9;\
        --bad:#ff9d94;--bad-hover:#ffc0ba;--bad-paper:#331a1a;--good:#84d8a3;--good-paper:#14291d;--note-paper:#16283a}}
        *,*::before,*::after{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
        body{margin:0;min-height:100vh;display:flex;flex-direction:column;background:var(--paper);color:var(--ink);\
        font:1.0625rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif}
        header,main,footer{width:100%;max-width:40rem;margin-inline:auto;padding-inline:1.25rem}
        header{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:.25rem 1rem;\
        padding-block:1rem}
        .product{margin:0;font-weight:700;font-size:1.125rem;letter-spacing:-.01em}
        .languages ul{display:flex;gap:.25rem;margin:0 -.75rem 0 0;padding:0;list-style:none}
        .languages a,.languages button{display:inline-block;min-height:2.75rem;padding:.5rem .75rem;border:0;\
        border-radius:.5rem;background:none;color:var(--act);font:inherit;line-height:1.75rem;\
        text-decoration:underline;text-underline-offset:.2em;cursor:pointer}
        .languages a[aria-current]{color:var(--ink);font-weight:700;text-decoration:none;cursor:default}
        main{flex:1}
        .card{padding:clamp(1.25rem,5vw,2.25rem);border:1px solid var(--edge);border-radius:1rem;\
        background:var(--card);box-shadow:0 1px 2px rgb(16 32 48/.06),0 8px 24px rgb(16 32 48/.06)}
        h1{margin:0 0 1rem;font-size:clamp(1.5rem,5.5vw,2rem);line-height:1.2;letter-spacing:-.02em;text-wrap:balance}
        h1:focus{outline:none}
        h2{margin:0;font-size:1.0625rem;line-height:1.4}
        p{margin:0 0 1rem}
        ul.plain{margin:0 0 1.5rem;padding-inline-start:1.25rem}
        ul.plain li{margin-bottom:.5rem}
        .soft{color:var(--soft)}
        .hint{margin-bottom:.5rem;color:var(--soft);font-size:1rem}
        label{display:block;margin-bottom:.25rem;font-weight:700}
        .field{margin-bottom:1.25rem}
        .field.wrong{padding-inline-start:1rem;border-inline-start:.25rem solid var(--bad)}
        .error{margin-bottom:.75rem;color:var(--bad);font-weight:700}
        input[type=text]{width:100%;min-height:3.25rem;padding:.625rem .875rem;border:2px solid var(--line);\
        border-radius:.625rem;background:var(--card);color:var(--ink);\
        font:1.1875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;\
        text-transform:uppercase}
        .wrong input[type=text]{border-color:var(--bad)}
        .actions{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.5rem}
        .button{display:inline-flex;align-items:center;justify-content:center;min-height:3.25rem;\
        padding:.625rem 1.5rem;border:2px solid var(--act);border-radius:.625rem;background:var(--act);\
        color:var(--act-ink);font:inherit;font-weight:700;text-align:center;text-decoration:none;cursor:pointer}
        .button:hover{border-color:var(--act-hover);background:var(--act-hover)}
        .button.second{background:none;color:var(--act)}
        .button.second:hover{border-color:var(--act-hover);color:var(--act-hover)}
        .button.final{border-color:var(--bad);background:var(--bad);color:var(--card)}
        .button.final:hover{border-color:var(--bad-hover);background:var(--bad-hover)}
        .notice{margin-bottom:1.5rem;padding:.875rem 1.125rem;border:1px solid;border-inline-start-width:.375rem;\
        border-radius:.625rem}
        .notice p{margin:0}
        .notice.bad{border-color:var(--bad);background:var(--bad-paper)}
        .notice.good{border-color:var(--good);background:var(--good-paper)}
        .notice.note{border-color:var(--act);background:var(--note-paper)}
        .notice strong,.code strong{display:block;font-size:1rem}.notice span{font-size:1rem}
        .when{display:block;font-size:1.375rem;font-weight:700;line-height:1.4}
        .code{margin-bottom:1.5rem;padding:.875rem 1.125rem;border-radius:.625rem;background:var(--paper)}
        .code strong{color:var(--soft);font-weight:400}
        .code code{font:700 clamp(1.0625rem,4.7vw,1.375rem)/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,\
        "DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
        details{margin-top:1.75rem;padding-top:1rem;border-top:1px solid var(--edge)}
        summary{display:list-item;min-height:2.75rem;padding-block:.5rem;color:var(--act);cursor:pointer}
        details p{margin-top:.5rem}
        a{color:var(--act);text-underline-offset:.2em}
        a.button{color:var(--act-ink)}
        a.button.second{color:var(--act)}
        :focus-visible{outline:3px solid var(--focus);outline-offset:3px}
        footer{padding-block:1.25rem 2rem;color:var(--soft);font-size:.9375rem}
        footer p{margin:0}
        @media (max-width:30rem){body{font-size:1rem}input[type=text]{padding-inline:.625rem;font-size:1rem}\
        .actions .button{width:100%}header{padding-block:.625rem}}
        @media print{header nav,.actions,footer{display:none}.card{border:0;box-shadow:none}}
        """

    /// The source expression for the style sheet in the content security policy.
    static let source = "'sha256-\(Data(SHA256.hash(data: Data(Self.sheet.utf8))).base64EncodedString())'"
}
