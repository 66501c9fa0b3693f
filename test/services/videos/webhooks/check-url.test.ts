import t from 'tap'
import { checkWebhookUrl } from '../../../../services/videos/webhooks/check-url.ts'

t.test('a webhook has a public HTTPS URL, or one of a trusted origin', async t => {
  const trusted = ['http://10.0.0.7:8000']
  for (const url of [
    'https://app.example/hook', 'https://app.example:8443/h?token=a%20b', 'https://93.184.216.34/', 'https://[2606:4700::1]/', 'http://10.0.0.7:8000/x'
  ]) t.equal(checkWebhookUrl(url, trusted), url)
  t.equal(checkWebhookUrl('HTTPS://App.Example/a b', []), 'https://app.example/a%20b', 'in its normal form')
  const wrong: [string, RegExp][] = [
    ['', /must be a URL/],
    ['app.example/hook', /must be a URL/],
    ['http://app.example/', /HTTPS/],
    ['ftp://app.example/', /HTTPS/],
    ['javascript:alert(1)', /HTTPS/],
    ['https://user:secret@app.example/', /user name or password/],
    ['https://127.0.0.1/', /public address/],
    ['https://2130706433/', /public address/],
    ['https://0x7f.1/', /public address/],
    ['https://169.254.169.254/latest', /public address/],
    ['https://10.0.0.8/', /public address/],
    ['https://[::1]/', /public address/],
    ['https://[::ffff:127.0.0.1]/', /public address/],
    ['https://localhost/', /public address/],
    ['https://a.LOCALHOST./', /public address/],
    ['http://10.0.0.7:8001/', /HTTPS/],
    ['https://10.0.0.7:8000/', /public address/]
  ]
  for (const [url, why] of wrong) {
    const found = t.throws(() => checkWebhookUrl(url, trusted), { status: 400, param: 'webhook_url', message: why }, url)
    t.notMatch(String(Object(found).message), /secret/)
  }
})
