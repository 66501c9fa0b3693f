import t from 'tap'
import suite from '../fixtures/sigv4.json' with { type: 'json' }
import { complaintAboutSignature } from './sigv4.ts'

const { accessKeyId, secretAccessKey, vectors } = suite
const nowMs = Date.parse('2015-08-30T12:36:00Z')

for (const { name, method, path, headers, body, authorization } of vectors) {
  t.test(`the verifier accepts AWS's vector ${name}, and no other body, path or key`, t => {
    const request = { method, path, headers: { ...headers, authorization }, bytes: Buffer.from(body) }
    const token = Object(headers)['x-amz-security-token']
    const keys = { accessKeyId, secretAccessKey, ...(token === undefined ? {} : { sessionToken: token }) }
    t.equal(complaintAboutSignature(request, keys, nowMs), null)
    for (const other of [{ ...request, bytes: Buffer.from('other') }, { ...request, path: '/other' }]) {
      t.equal(complaintAboutSignature(other, keys, nowMs), 'InvalidSignatureException')
    }
    t.equal(complaintAboutSignature(request, { ...keys, secretAccessKey: 'other' }, nowMs), 'InvalidSignatureException')
    t.equal(complaintAboutSignature(request, { ...keys, sessionToken: 'other' }, nowMs), 'UnrecognizedClientException')
    t.equal(complaintAboutSignature(request, keys, nowMs + 600_000), 'InvalidSignatureException')
    t.end()
  })
}
