const messages = [{ role: 'user', content: 'Say hello in three languages.' }]

/**
 * Example request bodies by operation id of the OpenAPI document. Those of `/v1` name models of the sandbox,
 * so they work unchanged on a new gateway.
 */
export const requestExamples: Readonly<Record<string, object>> = {
  postChatCompletions: { model: 'sandbox-chat', messages },
  postCompletions: { model: 'sandbox-chat', prompt: 'Once upon a time', max_tokens: 32 },
  postResponses: { model: 'sandbox-chat', input: 'Say hello in three languages.' },
  postResponsesInputTokens: { model: 'sandbox-chat', input: 'Say hello in three languages.' },
  postMessages: { model: 'sandbox-chat', max_tokens: 256, messages },
  postMessagesCountTokens: { model: 'sandbox-chat', messages },
  postImagesGenerations: { model: 'sandbox-image', prompt: 'A lighthouse at dusk', size: '1024x1024' },
  postVideos: { model: 'sandbox-video', prompt: 'Waves break on a pier', seconds: '4', size: '1280x720' },
  postRoutingDecisions: { model: 'auto', messages },
  postAdminAccounts: { id: 'team-search', name: 'Search team' },
  patchAdminAccountsId: { name: 'Search and ranking' },
  postAdminAccountsIdFreeze: { reason: 'Unpaid invoice' },
  postAdminAccountsIdUnfreeze: { reason: 'The invoice is paid' },
  postAdminAccountsIdClose: { reason: 'The team is dissolved' },
  postAdminAccountsIdDeposits: { id: 'invoice-2026-117', amount_usd: '25.00' },
  postAdminAccountsIdWithdrawals: { id: 'payout-2026-4', amount_usd: '5.00', reason: 'Paid back to the customer' },
  postAdminAccountsIdTransfers: { id: 'allocation-2026-11', to: 'team-search', amount_usd: '10.00' },
  postAdminAccountsIdRefunds: { entry: 'entry_0123456789abcdef', amount_usd: '0.02' },
  postAdminAccountsIdAdjustments: { amount_usd: '-1.50', reason: 'Correction of a deposit' },
  postAdminSuspenseIdClear: { reason: 'The provider has confirmed the cost' },
  postAdminSuspenseIdWriteOff: { reason: 'Goodwill' },
  postAdminKeys: { account: 'team-search', label: 'Production', models: ['sandbox-*'] },
  patchAdminKeysId: { label: 'Production, second region', limits: { requests_per_minute: 600 } },
  postAdminKeysIdRotate: { grace_seconds: 86_400 },
  postConsoleSession: { key: 'sk-tg-…' },
  putConsoleSessionKey: { key: 'sk-tg-…' }
}
