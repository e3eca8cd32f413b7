defmodule Mote.Dashboard do
  @moduledoc """
  A live view of a machine in the browser, served by the node itself.

      {:ok, dashboard} = Mote.Dashboard.start_link(MyApp.Mote)
      Mote.Dashboard.url(dashboard)
      #=> "http://127.0.0.1:40833/sUbm0YSc1mUIhX2vXrvKLOVvEUX1eJ0t/"

  The page shows sponsors and their threads, what waits, turns and idle time, memory, collections and pauses, once a second.
  It counts behaviours on request, and leads from a behaviour to its actors, from an actor to its state and its graph. It traces
  turns, pauses the machine, and runs single turns. The guide *The dashboard* shows it.

  It needs nothing but OTP: neither a web framework nor JSON, and the page loads nothing from elsewhere. Where Kino is, there is
  the same page as a widget in Livebook, `Mote.Kino`. Where Phoenix LiveDashboard is, there is a page of that, `Mote.LiveDashboard`.

  ## What it costs

  Nothing while no page is open. Once a second, the page asks for `Mote.info/1`, which reads counters and
  stops nothing, however many actors there are. Everything else happens when it is clicked: counting
  behaviours, actors by bytes and by events that wait, and graphs hold the machine still, as `Mote.Inspection`
  describes.

  Actors that the page has shown stay alive as long as it shows actors, as with any term that has their
  addresses. The dashboard remembers a thousand at most, and forgets them all when none has been asked about
  for two minutes.

  ## Access

  The dashboard listens on the loopback interface, and answers only requests with its token, which is a part
  of the address. Anyone who has the address can pause the machine and read the state of its actors, so treat
  it as a password. There is no encryption: to look from another computer, tunnel the port (`ssh -L`), or put
  the dashboard behind a proxy that encrypts.

  ## When the machine ends

  The page says so. The dashboard itself goes on. Under the name of the machine it shows the one that a supervisor starts in its
  place. A dashboard ends with the process that started it. A machine that it has paused stays paused until
  `Mote.resume/1`; its trace ends with it.
  """

  alias Mote.Dashboard.Server
  alias Mote.{Inspection, Machine}

  @options [:ip, :port, :token, :name]
  @loopback {127, 0, 0, 1}

  @type options :: [
          ip: :inet.ip_address(),
          port: :inet.port_number(),
          token: String.t(),
          name: GenServer.name()
        ]

  @doc """
  Starts a dashboard of a machine, linked to the calling process.

  It ends when that process ends, even if that ends normally. The machine need not be running yet. Options:

    * `:ip` - the address to listen on, as a tuple (default `#{inspect(@loopback)}`, which only programs of this computer
      reach). `{0, 0, 0, 0}` stands for all addresses of this computer;
    * `:port` - the port (default 0: any that is free);
    * `:token` - the secret part of the address, 16 to 128 letters, digits, `-` and `_` (default: a random one). With a token and
      a port of your own the address stays the same over restarts;
    * `:name` - a name for the process, as in `GenServer`.

  Returns `{:error, error}` with a `Mote.Error` whose reason is `:start` if it cannot listen there. As with any `start_link`, a
  caller that does not trap exits ends as well in that case. Raises `ArgumentError` for other options and values.

      iex> {:ok, machine} = Mote.start_link()
      iex> {:ok, dashboard} = Mote.Dashboard.start_link(machine)
      iex> Mote.Dashboard.url(dashboard) =~ ~r"^http://127.0.0.1:[0-9]+/[A-Za-z0-9_-]{32}/$"
      true
  """
  @spec start_link(Machine.t(), options) :: GenServer.on_start()
  def start_link(machine, opts \\ []) do
    opts = Inspection.keyword!(opts, "the options of Mote.Dashboard", @options)
    # Raises for what cannot be a machine; whether it runs is what the page says.
    _running_or_not = Machine.fetch(machine)

    Server.start_link(%{
      machine: machine,
      ip: ip!(Keyword.get(opts, :ip, @loopback)),
      port: port!(Keyword.get(opts, :port, 0)),
      token: token!(opts),
      name: opts[:name]
    })
  end

  @doc """
  A child specification: `{Mote.Dashboard, machine: MyApp.Mote, port: 4040}` in a list of children.

  Takes `:machine`, the options of `start_link/2`, and `:id`, `:restart` and `:shutdown` as in `Supervisor`.

      iex> children = [{Mote, name: Doc.Watched}, {Mote.Dashboard, machine: Doc.Watched, name: Doc.Dashboard}]
      iex> {:ok, _} = Supervisor.start_link(children, strategy: :one_for_one)
      iex> Mote.Dashboard.url(Doc.Dashboard) =~ "http://127.0.0.1:"
      true
  """
  @spec child_spec(keyword) :: Supervisor.child_spec()
  def child_spec(opts) do
    known = [:machine, :id, :restart, :shutdown] ++ @options

    {child, opts} =
      opts
      |> Inspection.keyword!("the options of Mote.Dashboard", known)
      |> Keyword.split([:id, :restart, :shutdown])

    machine =
      case Keyword.pop(opts, :machine) do
        {nil, _} ->
          raise ArgumentError,
                "expected {Mote.Dashboard, machine: machine}, got no :machine: #{inspect(opts)}"

        {machine, _} ->
          machine
      end

    Map.merge(
      %{
        id: opts[:name] || {Mote.Dashboard, machine},
        start: {Mote.Dashboard, :start_link, [machine, Keyword.delete(opts, :machine)]}
      },
      Map.new(child)
    )
  end

  @doc """
  The address of a dashboard, with its token.

  Calls the dashboard, and exits as `GenServer.call/2` does if there is none.

      iex> {:ok, machine} = Mote.start_link()
      iex> {:ok, dashboard} = Mote.Dashboard.start_link(machine, token: "a-secret-of-my-own")
      iex> Mote.Dashboard.url(dashboard) =~ ~r"^http://127.0.0.1:[0-9]+/a-secret-of-my-own/$"
      true
  """
  @spec url(GenServer.server()) :: String.t()
  defdelegate url(dashboard), to: Server

  defp ip!(ip) do
    if is_tuple(ip) and :inet.is_ip_address(ip),
      do: ip,
      else: raise(ArgumentError, "expected :ip to be an address such as {127, 0, 0, 1}, got: #{inspect(ip)}")
  end

  defp port!(port) when is_integer(port) and port in 0..65_535, do: port

  defp port!(other),
    do: raise(ArgumentError, "expected :port to be an integer from 0 to 65535, got: #{inspect(other)}")

  defp token!(opts) do
    unless Code.ensure_loaded?(:crypto) do
      raise ArgumentError,
            "a dashboard needs :crypto, for secrets: add it to :extra_applications in mix.exs, and build OTP with OpenSSL"
    end

    case Keyword.fetch(opts, :token) do
      :error -> Base.url_encode64(:crypto.strong_rand_bytes(24))
      {:ok, token} -> if safe?(token), do: token, else: bad_token()
    end
  end

  defp safe?(token), do: is_binary(token) and token =~ ~r/\A[A-Za-z0-9_-]{16,128}\z/

  # Without the token: it may end in a log.
  @spec bad_token() :: no_return
  defp bad_token,
    do: raise(ArgumentError, "expected :token to be a text of 16 to 128 letters, digits, - and _")
end
