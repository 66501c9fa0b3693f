/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */
import { Type } from '@sinclair/typebox'
import { strict, type Parsed } from './fields.ts'

const text = (description: string, example: string) => Type.Optional(Type.String({
  minLength: 1, maxLength: 16_384, description, examples: [example]
}))

/** The identity of a provider at Azure. Sources: @azure/identity 4.13.1, @azure/msal-node 7.2.3. */
export const Entra = Type.Object({
  tenant_id: text('The tenant. Default: AZURE_TENANT_ID.', 'f1d4b7a0-0000-4000-8000-000000000000'),
  client_id: text('The application, or the managed identity if it is one of several. Default: AZURE_CLIENT_ID.',
    '0b9a2c1e-0000-4000-8000-000000000000'),
  client_secret: text('A secret of the application. Default: AZURE_CLIENT_SECRET.', '${AZURE_CLIENT_SECRET}'),
  certificate: text('Path of a PEM file with a certificate of the application and its private key. Default: ' +
    'AZURE_CLIENT_CERTIFICATE_PATH.', '/run/secrets/azure.pem'),
  certificate_password: text('Of the private key. Default: AZURE_CLIENT_CERTIFICATE_PASSWORD.', '${AZURE_PEM_PASSWORD}'),
  federated_token_file: text('Path of a token that another identity provider renews, such as that of a Kubernetes ' +
    'service account. Default: AZURE_FEDERATED_TOKEN_FILE.', '/var/run/secrets/azure/tokens/azure-identity-token'),
  authority: text('Default: AZURE_AUTHORITY_HOST, else `https://login.microsoftonline.com`.',
    'https://login.microsoftonline.us'),
  scope: text('Default: `https://cognitiveservices.azure.com/.default`.', 'https://ai.azure.com/.default')
}, {
  ...strict,
  description: 'Azure only, in place of `api_key`: tokens of Microsoft Entra ID, by a secret, a certificate or a ' +
    'federated token of an application, else by the managed identity of the machine. `{}` reads all of it from the ' +
    'variables of the Azure SDKs; so does a provider without `api_key` and `entra`.'
})

/** With the defaults of the environment; `endpoint` and `header` belong to App Service's managed identity. */
export type EntraConfig = Parsed<typeof Entra> & { endpoint?: string | null, header?: string | null }
