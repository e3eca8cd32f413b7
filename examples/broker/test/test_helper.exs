missing = Broker.Clients.missing()

for {client, why} <- missing,
    do: IO.puts("Not tested with #{client}, which cannot be installed here. It needs #{why}.")

ExUnit.start(exclude: Keyword.keys(missing))
