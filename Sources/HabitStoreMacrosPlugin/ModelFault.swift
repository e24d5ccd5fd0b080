import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// An error in a declaration, in one line.
struct ModelFault: DiagnosticMessage {
    let message: String
    var diagnosticID: MessageID { MessageID(domain: "HabitStoreMacros", id: "model") }
    var severity: DiagnosticSeverity { .error }
}

/// The fix-it for an error.
struct ModelMending: FixItMessage {
    let message: String
    var fixItID: MessageID { MessageID(domain: "HabitStoreMacros", id: "mending") }
}

extension MacroExpansionContext {
    /// Reports an error at a place in the source and, if `mending` is given, a fix-it with a title and the node that takes the
    /// place of `replaced`.
    func report(
        _ message: String,
        at node: some SyntaxProtocol,
        mending: (title: String, replaced: Syntax, by: Syntax)? = nil
    ) {
        var fixIts: [FixIt] = []
        if let mending {
            fixIts.append(
                FixIt(
                    message: ModelMending(message: mending.title),
                    changes: [.replace(oldNode: mending.replaced, newNode: mending.by)]
                )
            )
        }
        diagnose(Diagnostic(node: node, message: ModelFault(message: message), fixIts: fixIts))
    }
}
