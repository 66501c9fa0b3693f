import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { LedgerCheck } from '../../schemas/admin/ledger.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { runLedgerCheck } from '../../services/operations/admin/entries.ts'

/** `POST /admin/ledger/check`: violations are reported in a 200 response. */
const ledger: FastifyPluginAsyncTypebox = async app => {
  app.post('/ledger/check', {
    config: { permission: 'read' },
    schema: {
      summary: 'Check that the books agree with themselves',
      response: { 200: LedgerCheck, ...errorResponses }
    }
  }, async ({ administration }) => await runLedgerCheck(administration))
}

export default ledger
