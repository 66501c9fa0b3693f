import fp from 'fastify-plugin'

/** Reports the end of each request to the operator's plugins. */
export default fp(async app => {
  const { extensions } = app
  if (extensions !== null) app.onRequestEnd(extensions.requestEnded)
}, { name: 'settled', dependencies: ['extensions', 'request-summary'] })
