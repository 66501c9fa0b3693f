/** The HTML page at `/`: what this server is and how to reach it. */
export function frontPage (
  baseUrl: string, { version, hasConsole }: { version: string, hasConsole: boolean }
): string {
  const shown = escaped(baseUrl)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tollgate</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Tollgate</h1>
<p>This is an OpenAI-compatible gateway for chat, images and video, version ${escaped(version)}. Point an app or an SDK at its base URL, with a key of this gateway.</p>
<p>Base URL: <code>${shown}</code></p>
<pre><code>curl ${shown}/chat/completions \\
  -H "Authorization: Bearer $TOLLGATE_KEY" -H 'Content-Type: application/json' \\
  -d '{"model": "auto", "messages": [{"role": "user", "content": "What is a gateway?"}]}'</code></pre>
<ul>
${hasConsole ? consoleLink : ''}<li><a href="docs/">Reference</a>: read about every operation and try it out</li>
<li><a href="openapi.json">OpenAPI document</a></li>
<li><a href="readyz">Whether this node accepts requests</a></li>
</ul>
<p>The operator of this gateway hands out keys. Its first start prints one.</p>
</main>
</body>
</html>
`
}

const consoleLink = '<li><a href="console/">Console</a>: sign in with a key to try models and to see your spending</li>\n'

const style = 'body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}main{max-width:46rem}' +
  'pre{overflow:auto;padding:1rem;border:1px solid #8888}'

function escaped (text: string): string {
  return text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)
}
