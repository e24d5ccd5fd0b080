import Synchronization

/// The command that messages name where they say what to run.
///
/// Errors, the gate's reasons and the runbook name commands, as in "run `habitstore check`". An app whose operators have a command of its
/// own says here what that is called, in its servers too; that command itself does so at its start.
public enum OperatorCommand {
    private static let current = Mutex("habitstore")

    /// The name, for all of the process; `habitstore` unless it is set. Texts that were made before keep the one that they have.
    public static var name: String {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
