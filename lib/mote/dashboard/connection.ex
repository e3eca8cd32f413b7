defmodule Mote.Dashboard.Connection do
  # One connection of HTTP/1.1: the process that owns its socket reads requests and answers them.
  #
  # 1. Whatever a client sends is answered or ends the connection, in order. All of it is bounded: lines, headers, bodies, time.
  # 2. Without the token, every request that can be read has the same answer, which closes the connection. Nothing of it is
  #    looked at before the token.
  # 3. A request that another site has sent is refused, even with the token, unless it asks for the page.
  #
  # HTTP is taken apart by the BEAM itself (`packet: :http_bin`), which makes atoms of the words that it knows only.
  @moduledoc false

  import Bitwise

  alias Mote.Dashboard.Router

  # Milliseconds that a connection may be silent between two requests, and that one request may take to arrive.
  @idle 15_000
  @arrives 5_000
  @headers 64
  @body 4_096

  @statuses %{
    200 => "OK",
    308 => "Permanent Redirect",
    400 => "Bad Request",
    403 => "Forbidden",
    404 => "Not Found",
    405 => "Method Not Allowed",
    409 => "Conflict",
    413 => "Content Too Large",
    431 => "Request Header Fields Too Large",
    500 => "Internal Server Error",
    501 => "Not Implemented"
  }

  # Of every answer. The page adds what it may load itself.
  @headers_of_all [
    {"cache-control", "no-store"},
    {"x-content-type-options", "nosniff"},
    {"referrer-policy", "no-referrer"},
    {"cross-origin-resource-policy", "same-origin"}
  ]

  @doc "Options of the socket that listens."
  @spec options(:inet.ip_address()) :: [:gen_tcp.listen_option()]
  def options(ip) do
    # On a longer line the connection is closed.
    [:binary, ip: ip, active: false, packet: :http_bin, packet_size: 4_096, reuseaddr: true, nodelay: true] ++
      [backlog: 64, send_timeout: @arrives, send_timeout_close: true] ++
      if(tuple_size(ip) == 8, do: [:inet6], else: [])
  end

  @doc """
  Starts the process of a connection, linked to the calling one. It serves the socket that it is sent as `{:serve, socket}`, and
  calls `admitted` when it has seen the token. The context is that of `Mote.Dashboard.Router`, with the `:token`.
  """
  @spec start_link(map, (... -> term)) :: pid
  def start_link(context, admitted) do
    :proc_lib.spawn_link(fn ->
      receive do
        {:serve, socket} ->
          serve(socket, context, admitted)
          :gen_tcp.close(socket)
      after
        @arrives -> :ok
      end
    end)
  end

  defp serve(socket, context, admitted) do
    wait = if admitted, do: @arrives, else: @idle

    case request(socket, context.token, wait) do
      {:ok, request} ->
        if admitted, do: admitted.()

        if reply(socket, answer(request, context), request.keep) == :ok and request.keep do
          # What was asked by hand may have been about many actors, and these live until this process has let go of them.
          if request.path != "data", do: :erlang.garbage_collect()
          serve(socket, context, nil)
        end

      {:refused, status, text} ->
        reply(socket, Router.text(status, text), false)

      :closed ->
        :ok
    end
  end

  # -- what is asked -------------------------------------------------------------------------------------------

  defp request(socket, token, wait) do
    with {:ok, {:http_request, method, target, version}} <- :gen_tcp.recv(socket, 0, wait),
         deadline = now() + @arrives,
         {:ok, headers} <- headers(socket, deadline, %{}, 0),
         {:ok, path, query} <- behind_token(target, token),
         :ok <- body(socket, deadline, headers),
         {:ok, params} <- params(query) do
      keep = version == {1, 1} and not (down(headers["connection"] || "") =~ "close")

      {:ok,
       %{method: to_string(method), path: path, params: params, keep: keep, site: headers["sec-fetch-site"]}}
    else
      {:refused, status, text} -> {:refused, status, text}
      {:ok, _no_request} -> {:refused, 400, "This is not a request of HTTP."}
      {:error, _gone_or_too_long} -> :closed
    end
  end

  defp headers(_socket, _deadline, _headers, n) when n > @headers,
    do: {:refused, 431, "This request has too many headers."}

  defp headers(socket, deadline, headers, n) do
    case :gen_tcp.recv(socket, 0, max(deadline - now(), 0)) do
      {:ok, {:http_header, _, name, _, value}} ->
        headers(socket, deadline, Map.put(headers, down(to_string(name)), value), n + 1)

      {:ok, :http_eoh} ->
        {:ok, headers}

      # A line that is no header.
      {:ok, _} ->
        {:refused, 400, "This is not a request of HTTP."}

      {:error, reason} ->
        {:error, reason}
    end
  end

  # Any bytes, which need not be a text.
  defp down(bytes), do: String.downcase(bytes, :ascii)

  # Nothing is asked in a body; what is sent is read, since the next request stands behind it.
  defp body(socket, deadline, headers) do
    case {headers["transfer-encoding"], Integer.parse(headers["content-length"] || "0")} do
      {nil, {0, ""}} -> :ok
      {nil, {n, ""}} when n in 1..@body -> skip(socket, deadline, n)
      {nil, {n, ""}} when n > @body -> {:refused, 413, "No request needs a body, and this one is too long."}
      {nil, _} -> {:refused, 400, "The length of this request is not a number."}
      _ -> {:refused, 501, "No request needs a body."}
    end
  end

  defp skip(socket, deadline, n) do
    with :ok <- :inet.setopts(socket, packet: :raw),
         {:ok, _} <- :gen_tcp.recv(socket, n, max(deadline - now(), 0)),
         do: :inet.setopts(socket, packet: :http_bin)
  end

  # `/token/path?query`; the path is `nil` without the second slash.
  defp behind_token({:abs_path, "/" <> target}, token) do
    {given, query} = split(target, "?", "")
    {given, path} = split(given, "/", nil)
    if same?(given, token), do: {:ok, path, query}, else: not_found()
  end

  defp behind_token(_other, _token), do: not_found()

  defp not_found,
    do: {:refused, 404, "Not found. The address of a dashboard is what Mote.Dashboard.url/1 returns."}

  defp params(query) do
    {:ok, URI.decode_query(query)}
  rescue
    ArgumentError -> {:refused, 400, "The address of this request cannot be read."}
  end

  # Both sides of the first separator; without one, the second is as given.
  defp split(text, separator, without) do
    case :binary.split(text, separator) do
      [left, right] -> {left, right}
      [left] -> {left, without}
    end
  end

  # In a time that does not tell how much of the token was right.
  defp same?(given, token) when byte_size(given) == byte_size(token) do
    [:binary.bin_to_list(given), :binary.bin_to_list(token)]
    |> Enum.zip_reduce(0, fn [a, b], different -> bor(different, bxor(a, b)) end) == 0
  end

  defp same?(_given, _token), do: false

  # -- what is answered ----------------------------------------------------------------------------------------

  # The page's own addresses are relative to a folder.
  defp answer(%{path: nil}, context), do: {308, [{"location", ["/", context.token, "/"]}], ""}

  # Browsers say so of what a page of another site asks for; a link there may lead here.
  defp answer(%{path: path, site: site}, _context) when site in ["cross-site", "same-site"] and path != "",
    do: Router.text(403, "Another site has asked for this.")

  defp answer(request, context), do: Router.answer(request.method, request.path, request.params, context)

  defp reply(socket, {status, headers, body}, keep) do
    body = IO.iodata_to_binary(body)
    length = {"content-length", Integer.to_string(byte_size(body))}
    connection = {"connection", if(keep, do: "keep-alive", else: "close")}

    lines =
      for {name, value} <- [length, connection] ++ headers ++ @headers_of_all, do: [name, ": ", value, "\r\n"]

    head = ["HTTP/1.1 ", Integer.to_string(status), " ", Map.fetch!(@statuses, status), "\r\n"]
    :gen_tcp.send(socket, [head, lines, "\r\n", body])
  end

  defp now, do: System.monotonic_time(:millisecond)
end
