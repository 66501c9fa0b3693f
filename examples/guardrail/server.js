import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

// A guardrail as the plugin `tollgate/guardrail` calls it: it gets the request before the provider is called,
// the response before the client gets it, and says what happens.

const forbidden = /\b(password|secret)\b/gi

/** `allow`, `block` with a message, or `replace` with another body. */
function judge ({ stage, body }) {
  const words = JSON.stringify(stage === 'before' ? body.messages ?? body.prompt : body.choices)
  if (!words.match(forbidden)) return { action: 'allow' }
  if (stage === 'before') return { action: 'block', message: 'Ask without secrets.', code: 'secrets' }
  return { action: 'replace', body: JSON.parse(JSON.stringify(body).replace(forbidden, '***')) }
}

const server = createServer(async (request, response) => {
  const verdict = judge(JSON.parse(await text(request)))
  response.setHeader('content-type', 'application/json').end(JSON.stringify(verdict))
})

server.listen(Number(process.env.PORT ?? 9100), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
