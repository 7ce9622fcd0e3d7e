// What a server may answer, judged from the history of what was sent to it and answered.
