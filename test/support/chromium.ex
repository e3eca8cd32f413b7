defmodule Mote.Chromium do
  @moduledoc """
  Chromium without a window, for tests of a page: it opens an address and runs JavaScript in it.

  It is spoken to through a pipe (`--remote-debugging-pipe`): messages of JSON, each followed by a zero byte. What is read of them is
  little, and found without taking JSON apart: what JavaScript returns comes in Base64.
  """

  @patience 30_000

  @doc "The program, if this computer has it."
  @spec executable() :: Path.t() | nil
  def executable, do: System.find_executable("chromium")

  @doc "Starts it with a folder of its own, and opens an address. It ends with the calling process."
  @spec open(String.t(), Path.t()) :: map
  def open(url, folder) do
    # Two pipes, which the program expects behind the three that every program has. Nothing else may be written to them.
    command = """
    exec #{executable()} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
      --user-data-dir='#{folder}' --remote-debugging-pipe about:blank 3<&0 4>&1 >/dev/null 2>&1 </dev/null
    """

    port = Port.open({:spawn_executable, "/bin/sh"}, [:binary, :exit_status, args: ["-c", command]])
    browser = %{port: port, session: nil}
    [_, target] = call(browser, "Target.createTarget", ~s({"url":"#{url}"}), ~r/"targetId":"(\w+)"/)

    [_, session] =
      call(
        browser,
        "Target.attachToTarget",
        ~s({"targetId":"#{target}","flatten":true}),
        ~r/"sessionId":"(\w+)"/
      )

    %{browser | session: session}
  end

  @doc "What an expression of JavaScript is, as text; it is waited for, if it is a promise."
  @spec run(map, String.t()) :: String.t()
  def run(browser, expression) do
    code =
      "Promise.resolve(#{expression}).then((value) => btoa(unescape(encodeURIComponent(String(value)))))"
      |> Base.encode64()

    params = ~s|{"expression":"eval(atob('#{code}'))","awaitPromise":true,"returnByValue":true}|
    [_, value] = call(browser, "Runtime.evaluate", params, ~r/"value":"([^"]*)"/)
    Base.decode64!(value)
  end

  @doc "Ends it."
  @spec close(map) :: :ok
  def close(browser) do
    Port.command(browser.port, [~s({"id":0,"method":"Browser.close"}), 0])
    await_exit(browser.port)
  end

  defp await_exit(port) do
    receive do
      {^port, {:exit_status, _}} -> :ok
      {^port, _} -> await_exit(port)
    after
      @patience -> raise "Chromium does not end"
    end
  end

  defp call(%{port: port, session: session}, method, params, pattern) do
    id = System.unique_integer([:positive])
    session = if session, do: ~s(,"sessionId":"#{session}"), else: ""
    Port.command(port, [~s({"id":#{id},"method":"#{method}","params":#{params}#{session}}), 0])
    answer = answer(port, ~s({"id":#{id},), "")
    Regex.run(pattern, answer) || raise "Chromium has answered #{method} with #{answer}"
  end

  # Events come as well, and are passed over.
  defp answer(port, beginning, read) do
    case String.split(read, <<0>>, parts: 2) do
      [message, rest] ->
        if String.starts_with?(message, beginning), do: message, else: answer(port, beginning, rest)

      [_] ->
        receive do
          {^port, {:data, data}} -> answer(port, beginning, read <> data)
          {^port, {:exit_status, status}} -> raise "Chromium has ended with status #{status}"
        after
          @patience -> raise "Chromium does not answer"
        end
    end
  end
end
