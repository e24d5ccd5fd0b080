extension String {
    /// The text with an ellipsis instead of everything in double quotes: a filter's texts, which may be a user's.
    var hidingQuotedText: String {
        var result = ""
        var isQuoted = false
        var isEscaped = false
        for scalar in unicodeScalars {
            if !isQuoted { result.unicodeScalars.append(scalar) }
            if isEscaped {
                isEscaped = false
            } else if isQuoted, scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                if isQuoted { result += "…\"" }
                isQuoted.toggle()
            }
        }
        return result
    }
}
