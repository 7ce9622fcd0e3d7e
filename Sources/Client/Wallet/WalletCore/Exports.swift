// A host application should only need to import this module, so screens, actions and the device interface are part of
// its API.
@_exported public import WalletFlows
@_exported public import Vocabulary
