import { inspect } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { UpstreamError } from '../../../services/shared/errors.ts'
import { loggable, plainCode, redacted, providerWords } from '../../../services/shared/redact.ts'
import { processorMs } from '../../helpers/processor-time.ts'
import { anyCharacter } from '../../helpers/any-character.ts'

const said = (message: string): string => providerWords(new UpstreamError('bad_request', 'yes', message))

t.test('secrets and addresses of the operator are taken out', async t => {
  const secrets: [text: string, hidden: RegExp][] = [
    ['Incorrect API key provided: sk-proj-abcDEF1234567890. You can find it.', /abcDEF|7890/],
    ['Incorrect API key provided: sk-upst***ret.', /upst/],
    ['invalid x-api-key: qwertzuiop', /qwertz/],
    ['{"api_key": "verysecretvalue"}', /verysecret/],
    ['header Authorization: Bearer abcdefgh refused', /abcdefgh/],
    ['Authorization: Basic dXNlcjpwYXNz', /dXNlcjpwYXNz/],
    ['got Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123', /eyJ|def_123/],
    ['key AIzaSyA1234567890abcdefghijklmnopqrstu is not valid', /SyA123/],
    ['token=abcdef&x=1', /abcdef/],
    ['password: hunter2', /hunter2/],
    ['AKIAIOSFODNN7EXAMPLE was refused', /IOSFODNN7/],
    ['Rate limit reached in organization org-AbCdEf123456 on tokens', /AbCdEf/],
    ['Project proj_KYenqYOfeZsnXEVK8dXVBhez has no access', /KYenq/],
    ['Consumer projects/123456789012 is suspended', /123456789012/],
    ['organization 2f1e0c9a-1b2c-4d3e-8f90-123456789abc is disabled', /2f1e0c9a|123456789abc/],
    ['Contact jane.doe+x@mail.example.co.uk for access', /jane|example/],
    ['POST http://vllm-0.models.svc.cluster.local:8000/v1/chat/completions failed', /vllm|8000|cluster/],
    ['https://user:pass@llm.example.com/v1?key=abc', /user|pass|llm|abc/],
    ['https://platform.openai.com:443/docs?api_key=abc#x', /abc/],
    ['https://evil-openai.com/x', /evil/],
    ['HTTPConnectionPool(host=\'gpu-node-3\', port=8000): Max retries', /gpu-node/],
    ['dial tcp: lookup gpu-node-3 on 10.0.0.2:53: no such host', /gpu-node|10\.0/],
    ['connect to 192.168.1.20:11434 failed', /192\.168|11434/],
    ['server [fd00:1234::5]:8000 is away', /fd00/],
    ['localhost:11434 is busy', /localhost|11434/],
    ['gpu.internal said no', /gpu/],
    ['server fd00::1 is away', /fd00/],
    ['server 2001:db8:0:0:0:0:2:1 is away', /2001|db8/],
    ['llm.example.com:8443 said no', /example|8443/],
    ['API key abc123def456 is not valid', /abc123/],
    ['The token "abc123def456" has expired', /abc123/],
    ['xoxb-1234-abcd', /1234|abcd/],
    ['key AQ.Ab8RN6Kx-y_zabc was refused', /Ab8/],
    ['my-company.openai.azure.com has no deployment', /my-company/],
    ['session 9f8e7d6c5b4a39281706f5e4d3c2b1a0 expired', /9f8e7d/]
  ]
  for (const [text, hidden] of secrets) {
    t.notMatch(redacted(text, 1000), hidden, text)
    t.notMatch(said(text), hidden, text)
  }
})

t.test('ordinary words stay as they are', async t => {
  const texts = [
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.1 instead.",
    'This model\'s maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.',
    'No tool output found for function call call_abcdefghijklmnopqrstuv12.',
    'messages.1: `tool_use` ids were found without `tool_result` blocks: toolu_01A09q90qw90lq917835lq9a',
    'max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku-20241022',
    'Unsupported parameter: \'max_tokens\' is not supported with this model. Use \'max_completion_tokens\' instead.',
    'See https://platform.openai.com/docs/guides/error-codes for more.',
    'Invalid URL (POST /v1/chat/completions)',
    'Bearer tokens are required.',
    'The model `accounts/fireworks/models/qwen3-235b-a22b-instruct-2507` does not exist',
    'body.messages.0.content: Input should be a valid string',
    'Please try again at 12:30:45.',
    'std::bad_alloc',
    'The API key parameter is missing.',
    'A token limit of 8192 applies.',
    'Überschreitung: 価格 😀'
  ]
  for (const text of texts) t.equal(redacted(text, 1000), text)
})

t.test('operators do not see long quotations, which may be of the prompt', async t => {
  const prompt = 'tell me a secret '.repeat(8)
  t.equal(said(`Invalid content '${prompt}' in messages[0]`), "Invalid content '…' in messages[0]")
  t.notMatch(said(`1 validation error: {'loc': ('body',), 'msg': 'Input should be text', 'input': ['${prompt}', 5]}`), /secret/)
  t.notMatch(said(`Input should be a valid string [type=string_type, input_value=[5, '${prompt}'], input_type=list]`), /secret/)
  t.equal(said("Invalid 'temperature'"), "Invalid 'temperature'")
  const quotations = [
    `Invalid content '${prompt}`,
    `Invalid content '${prompt.repeat(50)}' in messages[0]`,
    `Invalid content “${prompt}”`,
    `Invalid content '${prompt.replaceAll('tell', 'don\'t tell')}'`,
    JSON.stringify({ error: JSON.stringify({ content: `"${prompt}"` }) })
  ]
  for (const text of quotations) t.notMatch(said(text), /secret/, text.slice(0, 40))
})

t.test('what stands between two short quotations stays', async t => {
  const texts = [
    `Invalid value: 'a'. ${'It has to be one of these words. '.repeat(4)}They are 'b' and "c".`,
    `The models' lists don't have it, ${'whatever the client says, '.repeat(5)}so it can't run.`
  ]
  for (const text of texts) t.equal(said(text), text)
})

t.test('a redacted text has one line, a bounded length and is valid Unicode, whatever it was', async t => {
  t.equal(redacted('a\r\n\tb\u0000c\u2028d', 100), 'a b c d')
  t.equal(redacted('😀😀', 3), '😀…')
  t.equal(redacted('a\ud800b', 100), 'a\ufffdb')
  t.notMatch(said(`'${'word '.repeat(797)}' key ${'a1b2'.repeat(8)}`), /a1b/, 'after a long quotation too')
  t.notMatch(redacted(`${'word '.repeat(799)}sk-${'a1'.repeat(400)}`, 4000), /a1a1/, 'a key that is cut in two')
  const texts = fc.string({ unit: anyCharacter, maxLength: 3000 })
  fc.assert(fc.property(texts, fc.integer({ min: 1, max: 1000 }), (text, limit) => {
    const clean = redacted(text, limit)
    return clean.length <= limit + 1 && clean.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(clean)
  }))
})

t.test('hostile texts are redacted in bounded time', async t => {
  const starts = ['a@', 'a.', '1:', '"', "'", 'sk-', 'http://', 'authorization:', 'aA1', '[', 'a-', ' ', '\\', 'org-', 'input', '\u2028', 'host=', '\\"', '\\"a\\":', `${'a'.repeat(3998)} `]
  for (const start of starts) {
    const text = start.repeat(Math.ceil(400_000 / start.length))
    const startedMs = processorMs()
    said(text)
    redacted(text, 1000)
    t.ok(processorMs() - startedMs < 4000, start)
  }
  const nested = JSON.stringify(Array(900).fill('"a"').join('')).slice(0, 3900)
  const startedMs = processorMs()
  for (let count = 0; count < 100; count++) said(`${count} ${nested}`)
  t.ok(processorMs() - startedMs < 4000, 'JSON in JSON')
})

t.test('an error is logged without what its causes quote', async t => {
  const answer = 'Mimi has PIN 4711'
  const cause = t.throws(() => JSON.parse(answer)) as Error
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  for (const keepsWords of [true, false]) {
    const broken = loggable(new UpstreamError('bad_reply', 'yes', 'not JSON', { cause }), keepsWords)
    t.notMatch(inspect(broken), /Mimi|4711/)
    const behind = loggable(new Error('failed', { cause: new UpstreamError('bad_reply', 'yes', 'not JSON', { cause }) }), keepsWords)
    t.match(inspect(behind), /failed/)
    t.notMatch(inspect(behind), /Mimi|4711/)
    t.match(inspect(loggable(new UpstreamError('network', 'maybe', 'broke', { cause: reset }), keepsWords)), /ECONNRESET/)
  }
})

t.test('a code is a plain word', async t => {
  t.equal(plainCode('context_length_exceeded'), 'context_length_exceeded')
  for (const code of [null, undefined, '', 'two words', 'sk-abcdefgh', 'x'.repeat(101)]) t.equal(plainCode(code), null)
})

t.test('the log has no bytes that a parser could not read', async t => {
  const cause = Object.assign(new Error('Invalid header'), { code: 'HPE_INVALID_HEADER_TOKEN', data: `key: ${'x'.repeat(100_000)}` })
  const { cause: logged } = loggable(new UpstreamError('network', 'maybe', 'It broke.', { cause }), true)
  t.match(logged, { message: 'Invalid header', code: 'HPE_INVALID_HEADER_TOKEN' })
  t.notOk(Object.hasOwn(Object(logged), 'data'))
})
