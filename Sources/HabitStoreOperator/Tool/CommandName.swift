/// Derives names of commands and of their environment variables.
enum CommandName {
    /// A type's name in lowercase, with dashes between its words: `notes-operator` for `NotesOperator`.
    static func words(of type: String) -> String {
        var words = ""
        var last: Character?
        for letter in type {
            if letter.isUppercase, last?.isLowercase == true || last?.isNumber == true { words += "-" }
            words += letter.lowercased()
            last = letter
        }
        return words
    }

    /// The prefix of a command's environment variables: `NOTES_OPERATOR` for `notes-operator`.
    static func environment(of name: String) -> String {
        String(name.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }
}
