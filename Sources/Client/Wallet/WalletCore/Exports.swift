// A host application imports this module only; screens, actions and the device interface are part
// of its API.
@_exported public import DeviceInterface
@_exported public import Vocabulary
@_exported public import WalletFlows
