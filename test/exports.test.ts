import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { API, SymbolFlags } from 'typescript/unstable/sync'

/** The public names of an entry. A change of these lists is a change for users: see docs/releasing.md. */
interface Names {
  /** What programs can import: classes, functions, constants. */
  readonly values: readonly string[]
  /** What only the compiler sees: interfaces and types. */
  readonly types: readonly string[]
}

interface WrittenNames {
  readonly again?: Names
  readonly values: string
  readonly types: string
}

const ERRORS = toNames({
  values: `
    BadGateway BadRequest Conflict Forbidden GeneralError Gone LengthRequired MethodNotAllowed
    NotAcceptable NotAuthenticated NotFound NotImplemented PayloadTooLarge PaymentError
    PreconditionFailed PreconditionRequired ServiceError Timeout TooManyRequests Unavailable Unprocessable
    UnsupportedMediaType convert errorFromJSON errors toErrorClass toServiceError
  `,
  types: 'ErrorData ErrorJSON',
})

const CORE = toNames({
  again: ERRORS,
  values: `
    Application CUSTOM_METHOD Emitter HookContext METHOD_TABLE ServiceEntry addExternalForm
    callMethod conditional copyExternalForms createApp createContext findServiceEntry isStandardMethod
    noteEvent runMethod stripSlashes toExternalForm toServicePath
  `,
  types: `
    AnyApplication AnyService AnyServices ApplicationHookOptions AroundHook AuthenticationPayload AuthenticationRequest
    BusEvent BusReceiver EventBus FollowableService RecordView RecordStream StreamableService
    ConditionalOptions DeclaredTypes DeclaredUser EventListener ExpectedVersion ExternalForm Headers Hook HookOptions HookType HttpAnswer Id IdentifiedRecord IdObject LifecycleContext
    LifecycleHook Listener Logger MethodEntry MethodName MethodSpec NextFunction NullableId Page Paginated Params Query RecordId
    RecordConditions RecordQuery
    RegisteredService ServiceAddons ServiceAt ServiceExtensions ServiceInput ServiceMixin ServiceObserver ServiceOptions
    StandardMethod
  `,
})

const SCHEMA = toNames({
  values: `
    Ajv DateSchema Resolver StringEnum Type addFormats defaultAppConfiguration defaultAppSettings getDataValidator getDispatch getDispatchValue
    getValidator hooks keywordDate queryProperties queryProperty querySyntax resolve
    resolveData resolveDispatch resolveExternal resolveQuery resolveResult setDispatch
    validateData validateQuery virtual
  `,
  types: `
    AnyResolver AroundResolverHook DataSchema DataSchemaMap DataValidatorMap DateSchemaOptions
    DefaultAppConfiguration FormatName FormatOptions FormatsPluginOptions FromSchema JSONSchema PropertyFunction PropertyQueries PropertyQuery PropertyResolver PropertyResolverMap
    QueryExtensions QuerySyntaxOptions ResolverConfig ResolverHook ResolverOptions ResolverSchema
    ResolverStatus SchemaCompiler SchemaWithValidate Served StandardSchema Static StringEnumOptions SyntaxQuery TArray
    TObject TOptional TProperties TSchema TString TUnion TUnsafe ValidateQueryOptions ValidationCall ValidationHook ValidationInput
    ValidationIssue ValidationMap Validator ValidatorFunction VirtualResolver
  `,
})

const REMEX = toNames({
  again: CORE,
  values: `
    SafeFetchError StartError authenticateRequest bodyParsers compress configuration cors default developerPage errorHandler exitWithMessage
    fastifyApp json notFound openapi openapiDocument parseAuthentication remex rest safeFetch serveStatic urlencoded
  `,
  types: `
    BodyParserPlugin ConfigurationOptions Configurator DeveloperPageOptions ErrorHandlerOptions ErrorResponder ErrorResponders
    FastifyAppOptions FetchLimits FastifyApplication FeathersParams FormOptions Formatter JsonOptions
    Middleware NotFoundOptions OpenApiDocument OpenApiDocumentOptions OpenApiInfo OpenApiOptions
    OpenApiServer OpenApiTag ParseAuthenticationOptions QueryOptions QueryParser RemexOptions
    RestOptions SafeFetchOptions SentRequest ServerMembers ServiceDocumentOptions ServiceLookup
  `,
})

const AUTH = toNames({
  values: `
    AccountService ApiKeyStrategy AuthenticationBaseStrategy AuthenticationService CollectionRevocationList
    CollectionThrottleStore JWTStrategy JwtStrategy LocalStrategy LoginThrottle MemoryRevocationList
    MemoryThrottleStore OAuthStrategy Passwords authenticate authenticateParams findAuthentication
    hashPassword oauth passwordHash protect rateLimit requireScope
  `,
  types: `
    AccessTokenPayload AccountChange AccountLink AccountNotice AccountOptions AccountTokenCollection Algorithm ApiKey ApiKeyConfiguration ApiKeyRecord AuthenticateHook AuthenticateOptions AuthenticationConfiguration
    AuthenticationHttpRequest AuthenticationParams AuthenticationPayload AuthenticationRequest AuthenticationResult AuthenticationStrategy
    CallbackStore ConnectionEvent Counter CreatedApiKey Entity EntityService HashOptions HashPasswordHook HashPasswordOptions HookCall
    JwtConfiguration LocalConfiguration LoginAttempt LoginThrottleOptions NewApiKey NewTokenOptions OAuthDefaults OAuthOptions
    OAuthOutcome OAuthParams OAuthProfile OAuthSettings PagingQuery PasswordOptions PasswordVerdict
    ProtectHook ProviderSection RateLimitHook RateLimitOptions RevocationCollection RevocationList ServedApiKeys ServedSessions Session SessionOptions
    SessionRecord ThrottleCollection
    ThrottleStore TokenOptions WithAuthentication
  `,
})

const MONGODB = toNames({
  values: `
    MongoDBListService MongoDBService ObjectIdSchema audit connectMongoDB createdBy idempotent keywordObjectId limitTo mongoEvents
    resolveMongoDBOptions resolveObjectId resolveQueryObjectId softDelete timestamps transaction updatedBy watchCollection
  `,
  types: `
    AdapterId AnyCollection AuditEntry AuditOptions ConnectOptions DriverOptions IdempotentOptions InferredMongoDBService MongoDBAdapterOptions MongoDBAdapterParams MongoDBOptions MongoDBParams MongoDBSettings MultiMethod NewRecord NullableAdapterId
    ObjectIdQuery PageSize Paginate PaginationOptions PatchData UnreadParams WriteCount PipelineStage QueryFilter QueryLimits TransactionFunction
    MongoEventsOptions SoftDeleteOptions StoredAnswer TimestampsOptions TransactionOptions WatchOptions WrittenByOptions
  `,
})

const REALTIME = toNames({
  values: 'publish realtime recheckStreams',
  types: 'PublishContext Publisher RealtimeOptions Subscriber',
})

const SOCKETIO = toNames({
  values: 'socketio',
  types:
    'Channel ChannelMembers ChannelPublisher Connection ServiceSocket SocketCallback SocketioOptions',
})

const OPENTELEMETRY = toNames({ values: 'opentelemetry', types: 'OpenTelemetryOptions' })

const PROMETHEUS = toNames({ values: 'prometheus', types: 'PooledClient PrometheusOptions' })

const EMBEDDED = toNames({
  values: 'startEmbeddedMongo',
  types: 'EmbeddedMongo EmbeddedMongoOptions',
})

const CLIENT = toNames({
  values: `
    AuthenticationClient AxiosClient FetchClient MemoryStorage OfetchClient RemoteService
    SuperagentClient authentication createClient rest
  `,
  types: `
    AuthenticationClientClass AuthenticationClientOptions AuthenticationOptions LocationWithHash
    LoginClaims LoginData LoginMembers LoginProof LoginResult LoginUser TokenStorage
    Answer AxiosLibrary Client ClientOptions ClientParams ClientService ConnectionOptions ConnectionParams
    Connector CustomMethods
    ErrorResponse FetchAnswer FetchFunction FetchOptions ListedMethods PreparedRequest Received ReceivedResult
    RemoteChange RemoteCreate RemoteFind RemoteGet RemoteRemove RemoteServiceClass RemoteServiceOf RemoteServiceSettings RemoteServices RequestHeaders
    ResponseType RestConnection RestConnectors Sendable SendableQuery SentQuery SuperagentLibrary
  `,
})

const REALTIME_CLIENT = toNames({
  values: 'LiveList live realtime subscribe',
  types: `
    FoundBy LiveEvent LiveParams LiveStatus RealtimeOptions RecordOf SubscriptionParams
  `,
})

const REACT = toNames({ values: 'useLive', types: 'LiveArguments LiveState' })

const VUE = toNames({ values: 'useLive', types: 'LiveRefs LiveSources LiveState' })

const JOBS = toNames({
  values: 'jobs',
  types: `
    DataOf EnqueueOptions Job JobCounts JobData JobFunction JobHandler JobName JobParams JobRecord
    JobService JobsOptions Recurrence
  `,
})

const WEBHOOKS = toNames({
  values: 'webhooks',
  types: `
    MayReceive NewWebhookEndpoint WebhookAnswer WebhookDelivery WebhookDeliveryService WebhookEndpoint
    WebhookService WebhooksOptions
  `,
})

const FILES = toNames({
  values: 'FileService directUploadSchemas diskStorage gridFSStorage',
  types: `
    DirectUpload DiskStorageOptions FileFacts FileRecord FileServiceOptions FileStorage
    GridFSStorageOptions NewFile NewUpload SentUpload Upload UploadRequest
  `,
})

const S3 = toNames({ values: 's3Storage', types: 'S3StorageOptions' })

const FILES_CLIENT = toNames({
  values: 'download files upload',
  types: 'OnProgress TransferOptions UploadOptions',
})

const PUBLIC_NAMES: Readonly<Record<string, Names>> = {
  remex: REMEX,
  'remex/core': CORE,
  'remex/schema': SCHEMA,
  'remex/errors': { ...ERRORS, values: [...ERRORS.values, 'default'] },
  'remex/auth': AUTH,
  'remex/mongodb': MONGODB,
  'remex/files': FILES,
  'remex/files/s3': S3,
  'remex/jobs': JOBS,
  'remex/webhooks': WEBHOOKS,
  'remex/embedded': EMBEDDED,
  'remex/realtime': REALTIME,
  'remex/socketio': SOCKETIO,
  'remex/opentelemetry': OPENTELEMETRY,
  'remex/prometheus': PROMETHEUS,
  'remex/client': CLIENT,
  'remex/client/files': FILES_CLIENT,
  'remex/client/realtime': REALTIME_CLIENT,
  'remex/react': REACT,
  'remex/vue': VUE,
}

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest: Manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
/** The path of the declarations by the name that users import. */
const declarations = new Map(
  Object.entries(manifest.exports).flatMap(([path, entry]) =>
    typeof entry === 'string' ? [] : [[path.replace(/^\./, manifest.name), entry.types] as const],
  ),
)
const readNames = openProject('tsconfig.build.json')

t.test('the package has these entries and no others', async (t) => {
  t.strictSame([...declarations.keys()].sort(), Object.keys(PUBLIC_NAMES).sort())
})

for (const [specifier, path] of declarations) {
  const { values, types } = PUBLIC_NAMES[specifier] ?? { values: [], types: [] }

  t.test(`${specifier} exports these values and no others`, async (t) => {
    t.strictSame(Object.keys(await import(specifier)).sort(), [...values].sort())
  })

  t.test(`${specifier} declares these names and no others`, async (t) => {
    const source = path.replace(/^\.\/dist\/(.*)\.d\.ts$/, 'src/$1.ts')
    const names = readNames(source)
    t.strictSame([...names.values].sort(), [...values].sort())
    t.strictSame([...names.types].sort(), [...types].sort())
  })
}

/** Returns the names that are written out, and those of an entry that this one exports again. */
function toNames({ again, values, types }: WrittenNames): Names {
  return {
    values: [...(again?.values ?? []), ...values.trim().split(/\s+/)],
    types: [...(again?.types ?? []), ...types.trim().split(/\s+/)],
  }
}

/** Returns a function that reads what a source file exports, as the compiler sees it. */
function openProject(configFile: string): (source: string) => Names {
  const api = new API({ cwd: root })
  t.teardown(() => api.close())
  const project = api.updateSnapshot({ openProjects: [root + configFile] }).getProjects()[0]
  if (project === undefined) throw new Error(`${configFile} is no project`)
  const { program, checker } = project
  return (path) => {
    const file = program.getSourceFile(root + path)
    const module = file && checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${path} is no module of ${configFile}`)
    const symbols = checker.getExportsOfModule(module).map((symbol) => ({
      name: symbol.name,
      // What is exported from another file is an alias there.
      flags:
        symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol).flags : symbol.flags,
    }))
    const typesOnly = readTypeExports(path)
    const isValue = ({ name, flags }: { name: string; flags: number }): boolean =>
      (flags & SymbolFlags.Value) !== 0 && !typesOnly.includes(name)
    return {
      values: symbols.filter(isValue).map(({ name }) => name),
      types: symbols.filter((symbol) => !isValue(symbol)).map(({ name }) => name),
    }
  }
}

/** Returns the names that a source file exports by `export type { … }`: a class among them is no value. */
function readTypeExports(path: string): string[] {
  const statements = readFileSync(root + path, 'utf8').matchAll(/^export type \{([^}]*)\}/gm)
  return [...statements].flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
}
