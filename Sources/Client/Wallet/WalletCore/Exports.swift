// A host application imports this one module: screens, actions and devices are part of what it embeds.
@_exported public import DeviceInterface
@_exported public import Vocabulary
@_exported public import WalletFlows
