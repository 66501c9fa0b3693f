import t from 'tap'
import { baseUrlOf } from '../../../services/http/base-url.ts'

const arrival = { publicBaseUrl: null, protocol: 'http', host: 'gw:8080', address: '10.0.0.1', port: 80 }

t.test('the address that clients use is the one they sent the request to', async t => {
  t.equal(baseUrlOf(arrival), 'http://gw:8080/v1')
  t.equal(baseUrlOf({ ...arrival, protocol: 'https', host: 'gw.example.com' }), 'https://gw.example.com/v1')
  t.equal(baseUrlOf({ ...arrival, host: '[::1]:8080' }), 'http://[::1]:8080/v1')
})

t.test('the configured one goes before it, with or without its /v1', async t => {
  for (const publicBaseUrl of ['https://gw.example.com/api', 'https://gw.example.com/api/v1']) {
    t.equal(baseUrlOf({ ...arrival, publicBaseUrl }), 'https://gw.example.com/api/v1')
  }
})

t.test('what is no host is not repeated', async t => {
  for (const host of ['', 'gw/evil', 'u@gw', 'gw:1:2', 'gw"><script>', 'a b', 'gw:', 'gw\\evil', 'gw#', 'x'.repeat(300),
    '1.2.3.256', '1.2.3.4.5', 'gw:99999', '[::::]']) {
    t.equal(baseUrlOf({ ...arrival, host }), 'http://10.0.0.1:80/v1', host)
  }
  t.equal(baseUrlOf({ ...arrival, host: '', address: '::1' }), 'http://[::1]:80/v1')
  t.equal(baseUrlOf({ ...arrival, host: '', address: undefined, port: undefined }), 'http://127.0.0.1:80/v1')
})
