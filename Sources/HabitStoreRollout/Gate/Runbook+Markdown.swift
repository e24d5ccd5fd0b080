import HabitStore

extension Runbook {
    /// The article: the text of `Documentation.docc/Runbook.md`.
    package static var markdown: String {
        """
        # Runbook

        What to do about each reason for which a user waits or a fleet is halted.

        This file is generated from the list of reasons that the gate and the fleet use; a test compares the two. `habitstore rollout
        runbook KIND` prints one entry. Words in capitals are placeholders: `ROOT` for the root of the users' folders, `USER` for the user.

        ## Reasons of the gate

        `\(OperatorCommand.name) rollout status` and `\(OperatorCommand.name) fleet status` name them, and `habitstore_gate_refusals_total` counts them.

        \(sections(gate))

        ## A halted fleet

        `\(OperatorCommand.name) fleet status` says who or what halted it, and why. No user is moved until `\(OperatorCommand.name) fleet resume`.

        \(sections(halts))

        ## Errors

        A user who could not be moved or examined waits; the reason is the error's code.

        \(sections(errors))

        """
    }

    private static func sections(_ entries: [RunbookEntry]) -> String {
        entries.map { entry in
            """
            ### \(entry.kind)

            \(entry.symptom) \(entry.meaning)

            ```sh
            \(entry.command)
            ```

            *Check:* \(entry.check)
            """
        }.joined(separator: "\n\n")
    }
}
