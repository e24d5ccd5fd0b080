/// The access with which a program opens a store.
public enum StoreAccess: Sendable {
    /// Nothing is written, and there must be a store.
    case readOnly
    /// There must be a store.
    case readWrite
    /// A store is made where there is none.
    case create
}
