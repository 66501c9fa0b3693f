import { Type } from '@sinclair/typebox'

/** Response of `GET /` to a program; a browser gets a page. */
export const Front = Type.Object({
  name: Type.Literal('Tollgate'),
  version: Type.String({ examples: ['0.1.0'] }),
  base_url: Type.String({ examples: ['https://tollgate.example.com/v1'], description: 'The base URL for clients of OpenAI\'s API.' }),
  documentation: Type.String({ examples: ['https://tollgate.example.com/docs/'] }),
  openapi: Type.String({ examples: ['https://tollgate.example.com/openapi.json'] })
})
