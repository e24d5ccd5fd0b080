import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// One thing that is wrong with a declaration, in one line.
struct ModelFault: DiagnosticMessage {
    let message: String
    var diagnosticID: MessageID { MessageID(domain: "HabitStoreMacros", id: "model") }
    var severity: DiagnosticSeverity { .error }
}

/// What mends it.
struct ModelMending: FixItMessage {
    let message: String
    var fixItID: MessageID { MessageID(domain: "HabitStoreMacros", id: "mending") }
}

extension MacroExpansionContext {
    /// Says what is wrong at a place in the source, and how it is mended where `mending` is given: by a title, and the node that
    /// takes the place of `replaced`.
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
